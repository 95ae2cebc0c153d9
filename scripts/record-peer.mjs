// Records a version of codex as test/interop/peers/VERSION.json: messages, enums, capabilities, flags and measured timers.
//   node scripts/record-peer.mjs [--peer VERSION | latest] [--out FILE]
// Takes about two minutes. A second recording gives the same file.
import {existsSync, mkdirSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {parseArgs} from 'node:util';
import {recordPeer} from '../test/interop/lib/peer/record.mjs';
import {defaultPeer, findPeer, newestPeer} from './lib/stock-codex.mjs';

const INTERRUPTED_STATUS = 130;
const root = fileURLToPath(new URL('..', import.meta.url));
const dist = join(root, 'dist');
const {values: flags} = parseArgs({options: {peer: {type: 'string'}, out: {type: 'string'}}});
if (!existsSync(dist)) {
	console.error('There is no build: run npm run build first.');
	process.exit(1);
}
// The programs of a recording are ended when this process exits.
for (const name of ['SIGINT', 'SIGTERM']) process.once(name, () => process.exit(INTERRUPTED_STATUS));
const version = flags.peer === 'latest' ? newestPeer() : (flags.peer ?? defaultPeer());
const file = flags.out ?? join(root, `test/interop/peers/${version}.json`);
const began = performance.now();
const record = await recordPeer(findPeer(version), {dist, log: line => console.log(`${version}: ${line}`)});
mkdirSync(dirname(file), {recursive: true});
writeFileSync(file, format({version, ...record}));
console.log(`${version}: written to ${file} after ${Math.round((performance.now() - began) / 1000)} s`);

/** Lists of numbers are on one line, as the formatter of the repository writes them. */
function format(value) {
	return `${JSON.stringify(value, undefined, '\t').replace(/\[\s+([^[\]{}]*?)\s+\]/g, (_text, items) => `[${items.replace(/\s+/g, ' ')}]`)}\n`;
}
