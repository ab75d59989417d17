// @ts-check
// The other tabs of this browser in the same notebook. They are not other people, so the page does
// not show them. The tabs tell each other under which ids the server knows them.

export class OwnTabs {
    /** @param {string} place names the notebook and the server @param {() => void} onChanged */
    constructor(place, onChanged) {
        this.onChanged = onChanged;
        /** The ids of the other tabs, as participants. @type {Set<string>} */
        this.ids = new Set();
        /**
         * Our own id. Ids are unique until the server opens the notebook again, with another epoch.
         * @type {{id: string, epoch: string} | null}
         */
        this.own = null;
        this.channel = new BroadcastChannel(`ratoon ${place}`);
        this.channel.onmessage = ({ data }) => this.#heard(data);
    }

    /** The server has given this tab an id. @param {string} id @param {string} epoch */
    onId(id, epoch) {
        if (this.own?.epoch !== epoch) this.ids.clear();
        this.own = { id, epoch };
        this.channel.postMessage({ ...this.own, asks: true });
    }

    /** @param {{id: string, epoch: string, asks: boolean}} tab */
    #heard({ id, epoch, asks }) {
        if (this.own?.epoch !== epoch) return;
        this.ids.add(id);
        if (asks) this.channel.postMessage({ ...this.own, asks: false });
        this.onChanged();
    }
}
