"""JavaScript that measures pages in a browser: contrast, width, and labels of figures."""

LOW_CONTRAST = """(least) => {
    const channels = text => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
    const light = color => channels(color)
        .map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
        .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
    const behind = element => {
        for (let at = element; at; at = at.parentElement) {
            const color = getComputedStyle(at).backgroundColor;
            if (!/, 0\\)$/.test(color)) return color;
        }
        return "rgb(255, 255, 255)";
    };
    const hasText = element => [...element.childNodes].some(n => n.nodeType === 3 && n.data.trim());
    return [...document.body.querySelectorAll("*")]
        .filter(each => hasText(each) && each.checkVisibility())
        .map(each => {
            const style = getComputedStyle(each);
            const color = each.closest("svg") ? style.fill : style.color;
            const [low, high] = [light(color), light(behind(each))].sort((a, b) => a - b);
            return [each.tagName, each.textContent.trim(), (high + 0.05) / (low + 0.05)];
        })
        .filter(([, , ratio]) => !(ratio >= least));
}"""
"""Texts whose contrast with their background is less than `least`."""

OPEN_DETAILS = "() => document.querySelectorAll('details').forEach(each => each.open = true)"

OUTSIDE = """() => [...document.body.querySelectorAll("*")]
    .filter(each => each.checkVisibility() && !each.matches(".skip") && !each.closest("svg")
        && getComputedStyle(each).clipPath === "none" && !each.closest(".stacked thead"))
    .filter(each => {
        const box = each.getBoundingClientRect();
        return box.width && (box.left < -0.5 || box.right > innerWidth + 0.5)
            || each.scrollWidth > each.clientWidth + 1 && /auto|scroll/.test(
                getComputedStyle(each).overflowX);
    })
    .map(each => `${each.tagName} ${each.className}: ${each.textContent.trim().slice(0, 40)}`)"""
"""Visible elements that are not completely within the width of the window, or that scroll."""

FIGURE_FONTS = """() => [...document.querySelectorAll("figure svg text")]
    .filter(each => each.checkVisibility())
    .map(each => parseFloat(getComputedStyle(each).fontSize) * each.getScreenCTM().a)"""
"""Sizes of the texts of figures in pixels of the screen, without those of rotated texts."""

CROSSED_LABELS = """() => {
    const shrunk = text => {
        const box = text.getBoundingClientRect();
        return {left: box.left + 1, right: box.right - 1, top: box.top + box.height / 5,
            bottom: box.bottom - box.height / 5};
    };
    const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom
        && b.top < a.bottom;
    const points = path => {
        const matrix = path.getScreenCTM(), length = path.getTotalLength();
        const steps = Math.max(2, Math.ceil(length));
        return [...Array(steps + 1).keys()].map(
            step => path.getPointAtLength(length * step / steps).matrixTransform(matrix));
    };
    const found = [];
    for (const figure of document.querySelectorAll("figure svg")) {
        if (!figure.checkVisibility()) continue;
        const texts = [...figure.querySelectorAll("text")];
        const drawn = [...figure.querySelectorAll("path")].filter(
            path => !path.closest("defs") && getComputedStyle(path).stroke !== "none");
        texts.forEach((text, index) => {
            const box = shrunk(text), frame = figure.getBoundingClientRect();
            if (box.left < frame.left - 2 || box.right > frame.right + 2)
                found.push(`${text.textContent} is cut off`);
            for (const other of texts.slice(index + 1))
                if (meet(box, shrunk(other))) found.push(
                    `${text.textContent} overlaps ${other.textContent}`);
            for (const path of drawn)
                if (points(path).some(p => box.left < p.x && p.x < box.right && box.top < p.y
                    && p.y < box.bottom)) found.push(`a line crosses ${text.textContent}`);
        });
    }
    return found;
}"""
"""Labels of figures that overlap, are cut off, or are crossed by a line."""
