"""Pages as Markdown: what each element of a page becomes."""

import pytest

from bayesvb.reports.markdown import markdown
from bayesvb.reports.markdown.inline import code, escaped

CASES = {
    "<h2>Data <small>first</small></h2>": "## Data (first)",
    "<p>a &lt; b and <code>y ~ x | z</code></p>": "a &lt; b and `y ~ x | z`",
    "<p>2*3 my_x [1]</p>": r"2\*3 my\_x \[1\]",
    "<p>see <a href='#data'>here</a>, <a href='https://a.org'>there</a></p>":
        "see here, [there](https://a.org)",
    "<ul><li>one</li><li><span aria-hidden='true'>!</span> two</li></ul>": "- one\n- two",
    "<dl><div><dt>Seed</dt><dd>1</dd></div></dl>": "- **Seed**: 1",
    "<figure><div class='plot'><svg><path d='M0 0'/><text>x</text></svg></div>"
    "<figcaption>A line.</figcaption></figure>": "> Figure. A line.",
    "<details><summary>More</summary><p>text</p></details>": "**More**\n\ntext",
    "<pre><code>a = 1\nb = 2\n</code></pre>": "```\na = 1\nb = 2\n```",
    "<math display='block'><msub><mi>π</mi><mi>k</mi></msub><mo>=</mo><mfrac><mn>1</mn>"
    "<mi>K</mi></mfrac></math>": "$$\n\\pi_{k} = \\frac{1}{K}\n$$",
    "<p>petal_<wbr>width</p><p>b</p>": "petal\\_width\n\nb",
    "<p>with <math><mi>K</mi></math> lines</p>": "with $K$ lines",
    "<script>1 < 2</script><nav><a href='#x'>x</a></nav><p>kept</p>": "kept",
}  # fmt: skip


@pytest.mark.parametrize("page", CASES)
def test_an_element_becomes(page):
    assert markdown(page) == CASES[page] + "\n"


def test_a_table_keeps_its_caption_cells_and_sides():
    page = (
        "<table><caption>Counts.</caption><thead><tr><th rowspan='2'>seen</th>"
        "<th colspan='2'>told</th></tr><tr><th>a</th><th>b|c</th></tr></thead>"
        "<tbody><tr><th>a</th><td>3 <small>50 %</small></td><td class='text'>x</td></tr>"
        "</tbody></table>"
    )
    assert markdown(page).splitlines() == [
        "**Counts.**",
        "",
        r"| seen | told a | told b\|c |",
        "|---|---:|---|",
        "| a | 3 (50 %) | x |",
    ]


def test_text_of_the_user_cannot_become_a_form():
    assert "<script>" not in markdown("<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>")
    assert escaped("`*a*`") == r"\`\*a\*\`"
    assert code("a``b") == "``` a``b ```"
