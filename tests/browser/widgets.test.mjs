// Widgets of ipywidgets and anywidget in a real browser: they are live at the last state, alike in
// all tabs, and show how they looked elsewhere.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startBinary } from './binary.mjs';
import { becomes, nightly } from './browser.mjs';
import {
    focused,
    frameFocused,
    lacks,
    onDisk,
    open,
    page,
    pointerReaches,
    prints,
    ran,
    run,
    server,
    test,
    testOnOwnServer,
    testWithoutPage,
    texts,
} from './harness.mjs';

const frame = (nth, on = page) => on.frameLocator('iframe.frame').nth(nth);
const shown = (nth, on = page) => frame(nth, on).locator('#content').innerText();
/** Waits until a frame shows a text. */
const shows = (nth, text, on = page) =>
    frame(nth, on).locator('#content', { hasText: text }).first().waitFor();
const notes = (on = page) => texts('.output-note', on);

/** Moves a slider with the keyboard. */
async function move(nth, steps, on = page) {
    await frame(nth, on).locator('.noUi-handle').first().focus();
    for (let i = 0; i < steps; i += 1) await on.keyboard.press('ArrowRight');
}

const SLIDER = `import ipywidgets as w
slider = w.IntSlider(value=3, description='n')
label = w.Label('-')
def on(change):
    label.value = f'it is {change["new"]}'
    print('saw', change['new'])
slider.observe(on, 'value')
w.VBox([slider, label])`;

const COUNTER = `import anywidget, traitlets
class Counter(anywidget.AnyWidget):
    _esm = '''
    export default { render({ model, el }) {
        const button = document.createElement('button');
        const say = () => { button.textContent = 'count ' + model.get('value') + ' of ' + model.get('data').byteLength; };
        say();
        button.onclick = () => { model.set('value', model.get('value') + 1); model.save_changes(); };
        model.on('change:value', say);
        model.on('msg:custom', (content, [buffer]) => { button.textContent = content.text + buffer.byteLength; });
        el.append(button);
    } };
    '''
    _css = 'button { color: rgb(1, 2, 3); }'
    value = traitlets.Int(0).tag(sync=True)
    data = traitlets.Bytes(b'12345').tag(sync=True)
counter = Counter()
counter`;

test('widgets are live in all tabs, and the next cell sees what they set', {
    skip: lacks('ipywidgets', 'tqdm', 'anywidget'),
}, async () => {
    await run(SLIDER);
    await ran(1);
    await shows(0, 'n');
    const other = await open(server.url);
    await shows(0, 'n', other);
    await move(0, 2);
    await shows(0, 'it is 5');
    await shows(0, 'it is 5', other);
    await prints('saw 5');
    await move(0, 1, other);
    await shows(0, 'it is 6');
    await run('print("value", slider.value)');
    await ran(2);
    await prints('value 6');

    // Further widgets. `display` of a widget in another cell shows the same model.
    await run(`@w.interact(x=(0, 10))
def double(x=2):
    print('twice', x * 2)
    return w.HTML(f'<b>{x * 3}</b>')`);
    await ran(3);
    await shows(1, 'twice 4');
    await move(1, 1);
    await shows(1, 'twice 6');
    await shows(1, '9');
    await run(`from tqdm.notebook import tqdm
for i in tqdm(range(3), desc='outer'):
    for j in tqdm(range(40), desc='inner', leave=False): pass`);
    await ran(4);
    await shows(2, '3/3');
    await run(COUNTER);
    await ran(5);
    await pointerReaches(frame(3).getByText('count 0 of 5'));
    await frame(3).getByText('count 0 of 5').click();
    await shows(3, 'count 1 of 5');
    await run(`counter.send({'text': 'bytes: '}, [b'abc'])
out = w.Output()
button = w.Button(description='Divide', icon='check')
@button.on_click
def clicked(_):
    with out:
        print('one moment')
        1 / 0
w.VBox([button, out, slider])`);
    await ran(6);
    await shows(3, 'bytes: 3');
    const divide = frame(4).getByRole('button', { name: 'Divide' });
    await pointerReaches(divide);
    await divide.click();
    await shows(4, 'ZeroDivisionError');
    assert.match(await shown(4), /one moment/);
    await move(4, 1);
    await shows(0, 'it is 7');

    await page.reload();
    await page.locator('.cell').first().scrollIntoViewIfNeeded();
    await shows(0, 'it is 7');
    assert.deepEqual(await notes(), []);
});

test('a widget that is not live says so, and branches show their own values', {
    skip: lacks('ipywidgets'),
}, async () => {
    await run(SLIDER);
    await ran(1);
    await move(0, 1);
    await shows(0, 'it is 4');
    await run('first = slider.value');
    await ran(2);
    await move(0, 3);
    await shows(0, 'it is 7');
    // Back at the first state, from which a cell has run.
    await page.locator('.row').nth(1).click();
    await shows(0, 'it is 4');
    assert.match((await notes())[0], /^This widget is not live, because a cell has run after this state/);
    assert.ok(
        await frame(0)
            .locator('#content')
            .evaluate((place) => place.inert),
    );
    await run('print("branch", slider.value)');
    await ran(2);
    await prints('branch 4');
    await becomes(notes, []);
    await shows(0, 'it is 4');
});

test(
    'the code of a widget can be interrupted, and a process that ends changes nothing',
    nightly({
        skip: lacks('ipywidgets'),
    }),
    async () => {
        await run(`import ipywidgets as w, os, time
text = w.Text('before')
hang, die = w.Button(description='Hang'), w.Button(description='Die')
hang.on_click(lambda _: time.sleep(1000))
@die.on_click
def _(_):
    text.value = 'after'
    os._exit(3)
w.VBox([text, hang, die])`);
        await ran(1);
        await frame(0).getByRole('button', { name: 'Hang' }).click();
        await page.locator('.output-note').getByRole('button', { name: 'Interrupt' }).click();
        await becomes(notes, []);
        await page.locator('.error-view', { hasText: 'KeyboardInterrupt' }).waitFor();
        await frame(0).getByRole('button', { name: 'Die' }).click();
        await page
            .locator('.notice', { hasText: 'the process in which the code of the widget ran' })
            .waitFor();
        await becomes(() => frame(0).locator('input').inputValue(), 'before');
        await page.locator('.notice').getByRole('button', { name: 'Close' }).click();
        await run('print(text.value)');
        await ran(2);
        await prints('before');
    },
);

test(
    'sliders and fields of widgets keep the focus until Escape',
    nightly({ skip: lacks('ipywidgets') }),
    async () => {
        await run("import ipywidgets as w\nw.VBox([w.IntSlider(value=3, description='n'), w.Text('a')])");
        await ran(1);
        await frame(0).locator('.noUi-handle').click();
        await frameFocused(frame(0));
        await page.keyboard.press('ArrowRight');
        await shows(0, '4');
        const text = frame(0).locator('input[type="text"]');
        await text.click();
        await page.keyboard.type('bc');
        await becomes(() => text.inputValue(), 'abc');
        await focused([0, 'IFRAME']);
        await page.keyboard.press('Escape');
        await focused([0, 'cell']);
    },
);

testOnOwnServer(
    'a view-only link shows widgets that move, and cannot use them',
    nightly({ skip: lacks('ipywidgets') }),
    async () => {
        await run(SLIDER);
        await ran(1);
        const { origin, searchParams } = new URL(server.url);
        const answer = await fetch(`${origin}/api/links`, {
            method: 'POST',
            headers: {
                authorization: `Bearer ${searchParams.get('token')}`,
                'content-type': 'application/json',
            },
            body: JSON.stringify({ scope: 'view' }),
        });
        const { token } = await answer.json();
        const viewer = await open(`${origin}/n/main?token=${token}`);
        await shows(0, 'n', viewer);
        assert.deepEqual(await notes(viewer), [
            'You can see this widget, but not use it: your link is view-only.',
        ]);
        await move(0, 2);
        await shows(0, 'it is 5', viewer);
        assert.ok(
            await frame(0, viewer)
                .locator('#content')
                .evaluate((place) => place.inert),
        );
    },
);

testWithoutPage(
    'after a restart a widget shows its last look, and its state can be used again',
    nightly({ skip: lacks('ipywidgets') }),
    async (t) => {
        const dir = await mkdtemp(join(tmpdir(), 'ratoon-browser-'));
        const servers = [await startBinary(dir, 0)];
        t.after(async () => {
            await servers.at(-1).stop();
            await rm(dir, { recursive: true, force: true });
        });
        const tab = await open(servers[0].url);
        await run(SLIDER, 'Shift+Enter', tab);
        await ran(1, tab);
        await move(0, 2, tab);
        await shows(0, 'it is 5', tab);
        await onDisk(tab);
        await tab.close();
        await servers[0].stop();
        servers.push(await startBinary(dir, 0));
        const again = await open(servers[1].url);
        await shows(0, 'it is 5', again);
        assert.match((await notes(again))[0], /^This widget is not live, because its state is not in memory/);
        await run('print("value", slider.value)', 'Shift+Enter', again);
        await ran(2, again);
        await prints('value 5', again);
        await becomes(() => notes(again), []);
        await move(0, 1, again);
        await shows(0, 'it is 6', again);
    },
);
