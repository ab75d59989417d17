// A white PNG with axes and a diagonal line in one colour, in base64: the stand-in's plots.

import { crc32, deflateSync } from 'node:zlib';

/** @param {number} width @param {number} height @param {[number, number, number]} colour */
export function png(width, height, colour) {
    const rows = Buffer.alloc((width * 3 + 1) * height, 255);
    for (let y = 0; y < height; y += 1) {
        rows[y * (width * 3 + 1)] = 0;
        for (let x = 0; x < width; x += 1) {
            const isLine = Math.abs(y - (height - (height * x) / width)) < 3 || x < 2 || y > height - 3;
            if (isLine) rows.set(colour, y * (width * 3 + 1) + 1 + x * 3);
        }
    }
    const head = Buffer.alloc(13);
    head.writeUInt32BE(width, 0);
    head.writeUInt32BE(height, 4);
    head.set([8, 2, 0, 0, 0], 8);
    const chunk = (name, data) => {
        const body = Buffer.concat([Buffer.from(name), data]);
        const ends = Buffer.alloc(8);
        ends.writeUInt32BE(data.length, 0);
        ends.writeUInt32BE(crc32(body), 4);
        return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
    };
    const start = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
    return Buffer.concat([
        start,
        chunk('IHDR', head),
        chunk('IDAT', deflateSync(rows)),
        chunk('IEND', Buffer.alloc(0)),
    ]).toString('base64');
}
