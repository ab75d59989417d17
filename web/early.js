// Runs before the first paint, as a classic script: applies the theme and the graph's visibility,
// so that neither flashes. It also opens the notebook's WebSocket, so that the snapshot arrives
// while the modules load; socket.js takes the socket over.
{
    // Until the page handles drops itself, the browser must not open dropped files.
    for (const kind of ['dragover', 'drop'])
        addEventListener(
            kind,
            (event) => event.dataTransfer?.types.includes('Files') && event.preventDefault(),
        );
    const theme = localStorage.getItem('ratoon.theme');
    if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
    const name = document.currentScript.dataset.line;
    if (name !== undefined) {
        if (sessionStorage.getItem(`ratoon.${name}.showsGraph`) === 'false')
            document.documentElement.dataset.noGraph = '';
        const url = new URL(
            `${document.documentElement.dataset.base}/ws/${encodeURIComponent(name)}`,
            location.href,
        );
        url.protocol = url.protocol.replace('http', 'ws');
        const line = new WebSocket(url);
        const heard = [];
        line.onmessage = (message) => heard.push(message);
        self.ratoonLine = { line, heard };
    }
}
