// A reporter for Node's test runner: one line of JSON for each test. If several files run in one
// process, each is a suite with its path as name.

/** @param {AsyncIterable<{ type: string, data: any }>} events */
export default async function* (events) {
    /** The tests of a suite, which ends after them. @type {{ isPassed: boolean }[]} */
    let waiting = [];
    for await (const { type, data } of events) {
        if (type !== 'test:pass' && type !== 'test:fail') continue;
        // It was not chosen.
        if (data.skip === 'test name does not match pattern') continue;
        const { error, duration_ms } = data.details;
        const cause = error?.cause ?? error;
        const test = {
            name: data.name,
            isPassed: type === 'test:pass',
            isSkipped: data.skip !== undefined,
            seconds: duration_ms / 1000,
            error: cause === undefined ? '' : String(cause?.message ?? cause),
        };
        if (data.nesting > 0) {
            waiting.push(test);
        } else if (data.details.type === 'suite') {
            // A suite fails by itself if its file cannot be read.
            if (!test.isPassed && waiting.every((one) => one.isPassed)) waiting.push(test);
            for (const one of waiting) yield `${JSON.stringify({ ...one, file: test.name })}\n`;
            waiting = [];
        } else {
            yield `${JSON.stringify(test)}\n`;
        }
    }
}
