"""Print a page to PDF with marks in its text, and find the marks on the sheets."""

import re
from dataclasses import dataclass

import pypdfium2

MARK = """() => {
    let index = 0;
    const mark = (element, kind) => element.prepend(`[${kind}${index}]`);
    const seen = each => each.checkVisibility() && each.getClientRects().length;
    const blocks = "figure, table, .facts, .lines, .terms, .thread, ul, p";
    const all = [...document.querySelectorAll(`h2, h3, ${blocks}`)].filter(seen);
    all.forEach((heading, at) => {
        if (!/H[23]/.test(heading.tagName)) return;
        const next = all[at + 1];
        index += 1;
        mark(heading, "heading");
        mark(next.querySelector("figcaption, caption, dt, li") ?? next, "next");
    });
    for (const table of all.filter(each => each.matches("table"))) {
        index += 1;
        mark(table.tHead.rows[0].cells[0], "head");
        [...table.tBodies[0].rows].forEach(row => mark(row.cells[0], "row"));
    }
    for (const figure of all.filter(each => each.matches("figure"))) {
        index += 1;
        mark(figure.querySelector("figcaption"), "caption");
        for (const label of figure.querySelectorAll("svg.wide text")) mark(label, "label");
    }
}"""
"""Marks headings and what follows them, header rows and rows, labels and captions of figures."""


@dataclass(frozen=True)
class Sheet:
    """One printed page: its text, and how far down and to the right something is printed."""

    text: str
    bottom: float
    right: float

    def marks(self, kind):
        """Numbers of the marks of this kind."""
        return {int(number) for number in re.findall(rf"\[{kind}(\d+)\]", self.text)}


def print_sheets(page, paper, *, marked=True):
    """Print a page of the browser on A4 or Letter paper."""
    page.emulate_media(media="print")
    if marked:
        page.evaluate(MARK)
    return read_sheets(page.pdf(format=paper))


def read_sheets(pdf):
    document = pypdfium2.PdfDocument(pdf)
    try:
        return [_sheet(page) for page in document]
    finally:
        document.close()


def _sheet(page):
    # PDF readers break words of a narrow column at a hyphen of their own.
    text = page.get_textpage().get_text_bounded().replace("\ufffe", "").replace("\r\n", " ")
    pixels = page.render(scale=1, grayscale=True).to_numpy().squeeze() < 215
    return Sheet(
        text,
        (pixels.any(axis=1).nonzero()[0].max(initial=0) + 1) / pixels.shape[0],
        (pixels.any(axis=0).nonzero()[0].max(initial=0) + 1) / pixels.shape[1],
    )
