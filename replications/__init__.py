"""What five papers printed, beside what bedside makes of the same data or of the other numbers that they printed.

``python -m replications DATA [PAGE]`` prints it. DATA is a folder that may hold the public data: ``annomi/`` with
``AnnoMI-full.csv`` or ``annomi_dev.csv``, ``mdd5k-release/`` with the folders of the release, and ``mindeval/`` with
``human_annotations.jsonl``.
"""
