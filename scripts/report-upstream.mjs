// Reports a new version of codex: opens an issue, or updates the one that is open, with `gh`.
//   node scripts/report-upstream.mjs --peer VERSION --interop-log FILE
// The body has the differences between the recording of VERSION and the newest one before it, and the end of the log.
import {execFileSync, spawnSync} from 'node:child_process';
import {readFileSync} from 'node:fs';
import {fileURLToPath} from 'node:url';
import {parseArgs} from 'node:util';
import {compareVersions, readPeers} from './lib/peers.mjs';

const TITLE = 'A new version of codex differs from the recorded ones';
/** An issue may have 65,536 characters. */
const MAX_DIFF_CHARACTERS = 40_000;
const MAX_LOG_CHARACTERS = 8000;
const FOLDER = 'test/interop/peers';

const root = fileURLToPath(new URL('..', import.meta.url));
const {values: flags} = parseArgs({options: {peer: {type: 'string'}, 'interop-log': {type: 'string'}}});
const body = [
	`codex ${flags.peer} was released.`,
	'',
	`Recording, compared with the one before it:`,
	...fence('diff', compareRecordings(flags.peer)),
	'End of the interop run:',
	...fence('', readFileSync(flags['interop-log'], 'utf8').slice(-MAX_LOG_CHARACTERS)),
].join('\n');
const open = JSON.parse(
	gh('issue', 'list', '--state', 'open', '--search', `in:title "${TITLE}"`, '--json', 'number,title'),
);
const existing = open.find(({title}) => title === TITLE);
if (existing) gh('issue', 'edit', String(existing.number), '--body', body);
else gh('issue', 'create', '--title', TITLE, '--body', body);
console.log(existing ? `issue ${existing.number} was updated` : 'an issue was opened');

function compareRecordings(version) {
	const versions = readPeers().map(peer => peer.version);
	if (!versions.includes(version)) return `codex ${version} could not be recorded`;
	const before = versions.filter(other => compareVersions(other, version) < 0).at(-1);
	const args = ['diff', '--no-index', '--', `${FOLDER}/${before}.json`, `${FOLDER}/${version}.json`];
	const {stdout} = spawnSync('git', args, {cwd: root, encoding: 'utf8'});
	return stdout.length > MAX_DIFF_CHARACTERS ? `${stdout.slice(0, MAX_DIFF_CHARACTERS)}\n(shortened)` : stdout;
}

function fence(language, text) {
	return ['', `\`\`\`${language}`, text.trimEnd(), '```', ''];
}

function gh(...args) {
	return execFileSync('gh', args, {cwd: root, encoding: 'utf8'});
}
