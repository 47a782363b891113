"""Pages in a real browser, and what their figures show."""

from contextlib import contextmanager


@contextmanager
def opened(browser, address):
    """Open a page, collecting errors, console messages and requests as its attributes."""
    page = browser.new_page()
    page.set_default_timeout(60_000)  # other work may keep the processors busy
    page.problems, page.requests = [], []
    page.on("console", lambda message: page.problems.append(message.text))
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("request", lambda request: page.requests.append(request.url))
    page.goto(str(address))
    try:
        yield page
    finally:
        page.close()


def settle(page):
    """Wait until the page has answered to another screen: its figures fit, and are drawn."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => "
                  "requestAnimationFrame(done)))")  # fmt: skip
    page.wait_for_function(
        "() => [...document.querySelectorAll('.js-plotly-plot')].every("
        "e => Math.abs(e._fullLayout.width - e.clientWidth) < 2)"
    )


def choices(page, section, name):
    """Return the texts that a control offers."""
    return page.locator(f"#{section} [name={name}] option").all_text_contents()


def traces(page, key):
    """Return the traces that a figure shows, after it has been drawn."""
    place = f'[data-figure="{key}"]'
    page.locator(place).scroll_into_view_if_needed()
    page.wait_for_selector(f"{place} .plot-container")
    return page.eval_on_selector(
        place,
        "e => e.data.map(t => ({name: t.name, visible: t.visible, x: [...(t.x ?? [])], "
        "y: [...(t.y ?? [])], custom: [...(t.customdata ?? [])]}))",
    )
