"""Forms that are lines of text or parts of a document: a longer example of each, and what may stand in it."""

from __future__ import annotations

#: By the reader: an example, and odd lines.
TEXTS: dict[str, tuple[bytes, tuple[bytes, ...]]] = {
    "text": (
        b"# Talk\n"
        b"\n"
        b"1. [00:01] **T:** What brings you here?\n"
        b"2. [00:05 - 00:07] **C:** I sleep badly.\n"
        b"Since May.\n"
        b"---\n"
        b"3. [1:00:09] **T:** Note: so you do.\n"
        b"4. [1:00:12] **C:** Yes.\n",
        (
            b"T1: a",
            b"Doctor - x",
            b"Anna  0:15",
            b"[doctor] x",
            b"Session 2",
            b": x",
            b"A:",
            b"**A:",
            b"99:99 A: x",
            b"#",
            "咨询师：".encode(),
            b"Patient",
            b">> B: x",
            b"http://x",
            b"\t",
            b"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
            b"1. 1. A: x",
            b"[[00:01",
            b"---",
        ),
    ),
    "subtitles": (
        b"1\n"
        b"00:00:01,000 --> 00:00:02,000\n"
        b"Doctor: What <i>brings</i> you here?\n"
        b"\n"
        b"2\n"
        b"00:00:03,000 --> 00:00:04,000\n"
        b"Patient: I sleep\n"
        b"badly.\n"
        b"\n"
        b"3\n"
        b"00:00:05,000 --> 00:00:06,000\n"
        b"Since May.\n",
        (
            b"WEBVTT",
            b"NOTE x",
            b"STYLE",
            b"00:01.000 --> 00:02.000 align:start",
            b"<v Anna>x",
            b"</v>",
            b"<v>",
            b"",
            b"1",
            b"00:00:01.000 -> 00:00:02.000",
            b"-->",
            b"9999:00:01.000 --> 00:00:00.000",
            b"&lt;&#xD800;&#0;",
            b"<v.a.b C>x</v>",
        ),
    ),
    "textgrid": (
        b'File type = "ooTextFile"\n'
        b'Object class = "TextGrid"\n'
        b"\n"
        b"xmin = 0\n"
        b"xmax = 4\n"
        b"tiers? <exists>\n"
        b"size = 3\n"
        b"item []:\n"
        b"    item [1]:\n"
        b'        class = "IntervalTier"\n'
        b'        name = "Doctor"\n'
        b"        xmin = 0\n"
        b"        xmax = 4\n"
        b"        intervals: size = 2\n"
        b"        intervals [1]:\n"
        b"            xmin = 0\n"
        b"            xmax = 2\n"
        b'            text = "What ""brings""\n'
        b'you here?"\n'
        b"        intervals [2]:\n"
        b"            xmin = 2\n"
        b"            xmax = 4\n"
        b'            text = ""\n'
        b"    item [2]:\n"
        b'        class = "TextTier"\n'
        b'        name = "x"\n'
        b"        xmin = 0\n"
        b"        xmax = 4\n"
        b"        points: size = 1\n"
        b"        points [1]:\n"
        b"            number = 1\n"
        b'            mark = "m"\n'
        b"    item [3]:\n"
        b'        class = "IntervalTier"\n'
        b'        name = "Patient"\n'
        b"        xmin = 0\n"
        b"        xmax = 4\n"
        b"        intervals: size = 1\n"
        b"        intervals [1]:\n"
        b"            xmin = 1\n"
        b"            xmax = 4\n"
        b'            text = "Badly."\n',
        (
            b'"',
            b'""',
            b"1e999",
            b"-1",
            b"99999999999999999999",
            b"<absent>",
            b"<exists>",
            b"! x",
            b"1.5.5",
            b"size = 1e300",
            b'"TextTier"',
            b"nan",
            b"1e-400",
        ),
    ),
    "chat": (
        b"@UTF8\n"
        b"@Begin\n"
        b"@Languages:\teng, spa\n"
        b"@Participants:\tTHE Anna_B Therapist , CLI Client\n"
        b"*THE:\t<what what> [/] brings\n"
        b"\t(y)ou here ? \x15100_2000\x15\n"
        b"%mor:\tx|y\n"
        b"*CLI:\t&-um I sleep [x 2] badly@o +/. \x152000_2500\x15\n"
        b"@Comment:\tx\n"
        b"@End\n",
        (
            b"*:\tx",
            b"*THE",
            b"%",
            b"@",
            b"*CLI:\t0 .",
            b"*CLI:\t&=laughs .",
            b"\x15",
            b"\x151_\x15",
            b"x",
            b"\tx",
            b"@Participants:\t,",
            b"@Languages:\t",
            b"*THE:\t[[]<<",
            b'+"/.',
            b"(((",
            b"\x15999999999999_1\x15",
            b"*A B:\tx .",
        ),
    ),
    "elan": (
        b"<ANNOTATION_DOCUMENT>\n"
        b"<TIME_ORDER>\n"
        b'<TIME_SLOT TIME_SLOT_ID="a" TIME_VALUE="0"/>\n'
        b'<TIME_SLOT TIME_SLOT_ID="b"/>\n'
        b"</TIME_ORDER>\n"
        b'<TIER TIER_ID="Doctor">\n'
        b"<ANNOTATION>\n"
        b'<ALIGNABLE_ANNOTATION TIME_SLOT_REF1="a" TIME_SLOT_REF2="b">\n'
        b"<ANNOTATION_VALUE>Why &amp; how?</ANNOTATION_VALUE>\n"
        b"</ALIGNABLE_ANNOTATION>\n"
        b"</ANNOTATION>\n"
        b"</TIER>\n"
        b'<TIER TIER_ID="g" PARENT_REF="Doctor">\n'
        b"<ANNOTATION>\n"
        b'<REF_ANNOTATION ANNOTATION_REF="x">\n'
        b"<ANNOTATION_VALUE>z</ANNOTATION_VALUE>\n"
        b"</REF_ANNOTATION>\n"
        b"</ANNOTATION>\n"
        b"</TIER>\n"
        b"</ANNOTATION_DOCUMENT>\n",
        (
            b"<!DOCTYPE x>",
            b'<!DOCTYPE x [<!ENTITY a "b">]>',
            b"&a;",
            b"<",
            b"<a>",
            b"</TIER>",
            b'<TIER TIER_ID="Doctor">',
            b"<TIER/>",
            b'<TIME_SLOT TIME_SLOT_ID="a" TIME_VALUE="x"/>',
            b"<ALIGNABLE_ANNOTATION/>",
            b"<ANNOTATION_VALUE>",
            b"]]>",
            b"\xff",
            b'<?xml version="1.0" encoding="x"?>',
            b"<TIME_SLOT/>",
        ),
    ),
}

#: What may stand in a Word document's XML.
WORDS = (
    b"<w:ins/>",
    b"<w:del><w:r><w:t>x</w:t></w:r></w:del>",
    b"<w:tbl/>",
    b"<w:tbl><w:tr/></w:tbl>",
    b"<w:p/>",
    b"<w:tab/>",
    b"<w:tbl><w:tr><w:tc/><w:tc/></w:tr></w:tbl>",
    b"<w:sdt><w:sdtContent><w:p/></w:sdtContent></w:sdt>",
    b"<!-- x -->",
    b"<?x?>",
    b"<!DOCTYPE a>",
    b"&x;",
    b"<w:t>Doctor: x</w:t>",
    b"\xff",
    b"<x/>",
)
