/** Named so that nothing else has it; unknown outside of the tests, in workers and children for example. */
const PROBE = 'globalThis.longarmPlaceReached';

/** The source with a note in front of each place that says when it is reached; the places have an `id`. */
export function withProbes(source, places) {
	const inserts = places.flatMap(({id, start, end, statement}) => {
		const [open, close] = statement ? [`{${PROBE}?.(${id});`, '}'] : [`(${PROBE}?.(${id}), `, ')'];
		return [
			{at: start, isClose: false, other: -end, id, text: open},
			{at: end, isClose: true, other: -start, id: -id, text: close},
		];
	});
	// At the same offset what is inside closes first and opens last.
	inserts.sort((a, b) => a.at - b.at || b.isClose - a.isClose || a.other - b.other || a.id - b.id);
	let text = '';
	let done = 0;
	for (const {at, text: inserted} of inserts) {
		text += source.slice(done, at) + inserted;
		done = at;
	}
	return text + source.slice(done);
}

/** The module that tests load first when probes are in the source; it writes a line per place and test file. */
export const SETUP = `import {openSync, writeSync} from 'node:fs';
import {expect} from 'vitest';

const seen = new Set();
// Opened once: some tests give up their privileges for a while.
const fd = openSync(new URL('reached.txt', import.meta.url), 'a');
${PROBE} = id => {
	if (seen.has(id)) return;
	seen.add(id);
	writeSync(fd, \`\${id}\\t\${expect.getState().testPath}\\n\`);
};
`;
