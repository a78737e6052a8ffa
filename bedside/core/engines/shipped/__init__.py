"""The engines that ship with bedside, one file each."""
