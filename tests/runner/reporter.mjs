// A reporter for Node's test runner: one line of JSON for each test.

/** @param {AsyncIterable<{ type: string, data: any }>} events */
export default async function* (events) {
    for await (const { type, data } of events) {
        if (type !== 'test:pass' && type !== 'test:fail') continue;
        // It was not chosen.
        if (data.skip === 'test name does not match pattern') continue;
        const { error, duration_ms } = data.details;
        const cause = error?.cause ?? error;
        yield `${JSON.stringify({
            name: data.name,
            isPassed: type === 'test:pass',
            isSkipped: data.skip !== undefined,
            seconds: duration_ms / 1000,
            error: cause === undefined ? '' : String(cause?.message ?? cause),
        })}\n`;
    }
}
