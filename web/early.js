// Runs before the first paint, as a classic script: the chosen theme must not flash, and neither must a graph that is closed.
// It also opens the notebook's line: what the server says comes while the modules are still on their way, and socket.js
// takes the line over.
{
    // A file that is dropped before the page listens is opened nowhere.
    for (const kind of ['dragover', 'drop'])
        addEventListener(
            kind,
            (event) => event.dataTransfer?.types.includes('Files') && event.preventDefault(),
        );
    const theme = localStorage.getItem('ratoon.theme');
    if (theme) document.documentElement.dataset.theme = theme;
    const name = document.currentScript.dataset.line;
    if (name !== undefined) {
        if (sessionStorage.getItem(`ratoon.${name}.showsGraph`) === 'false')
            document.documentElement.dataset.noGraph = '';
        const url = new URL(`/ws/${encodeURIComponent(name)}`, location.href);
        url.protocol = url.protocol.replace('http', 'ws');
        const line = new WebSocket(url);
        const heard = [];
        line.onmessage = (message) => heard.push(message);
        self.ratoonLine = { line, heard };
    }
}
