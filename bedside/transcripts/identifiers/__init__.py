"""What in transcripts may say who somebody is: what is looked for, where it stands, and copies without it.

Nothing here promises that a transcript is anonymous: people are also known by what they tell.
"""
