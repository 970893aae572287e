"""Minimal PDF and .docx files."""

import zipfile
from pathlib import Path

_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_HEADING = '<w:pPr><w:pStyle w:val="H1"/></w:pPr>'
_TYPES = """<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/\
content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.\
relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override \
PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.\
wordprocessingml.document.main+xml"/></Types>"""
_RELATIONS = """<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/\
package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/{kind}" \
Target="{target}"/></Relationships>"""
_STYLES = f"""<?xml version="1.0"?><w:styles {_W}><w:style w:type="paragraph" w:styleId="H1">\
<w:name w:val="heading 1"/></w:style></w:styles>"""


def write_pdf(path: Path, pages: list[str]) -> None:
    """A PDF with one line of text on each page; an empty text is an empty page."""
    n_pages = len(pages)
    kids = " ".join(f"{4 + 2 * at} 0 R" for at in range(n_pages))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {n_pages} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for at, text in enumerate(pages):
        stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET"
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * at} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>",
            f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        ]
    body, places = "%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(body))
        body += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    end = f"trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{len(body)}\n%%EOF\n"
    path.write_bytes(f"{body}xref\n0 {size}\n0000000000 65535 f \n{table}{end}".encode("latin-1"))


def write_docx(path: Path, paragraphs: list[tuple[str, bool]]) -> None:
    """A .docx of (text, whether it is a heading of level 1)."""
    rows = "".join(
        f"<w:p>{_HEADING if heading else ''}<w:r><w:t>{text}</w:t></w:r></w:p>"
        for text, heading in paragraphs
    )
    document = f'<?xml version="1.0"?><w:document {_W}><w:body>{rows}</w:body></w:document>'
    office = "officeDocument/2006/relationships/officeDocument"
    styles = "officeDocument/2006/relationships/styles"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", _TYPES)
        archive.writestr("_rels/.rels", _RELATIONS.format(kind=office, target="word/document.xml"))
        relations = _RELATIONS.format(kind=styles, target="styles.xml")
        archive.writestr("word/_rels/document.xml.rels", relations)
        archive.writestr("word/document.xml", document)
        archive.writestr("word/styles.xml", _STYLES)
