// Compares the newest released version of codex with the recorded ones.
//   node scripts/check-upstream.mjs [--json]
// --json prints {known, newest, isMissing}: the recorded versions, the newest release, and whether that is not recorded yet.
import {parseArgs} from 'node:util';
import {readPeers} from './lib/peers.mjs';
import {newestPeer} from './lib/stock-codex.mjs';

const {values: flags} = parseArgs({options: {json: {type: 'boolean'}}});
const known = readPeers().map(({version}) => version);
try {
	report(newestPeer());
} catch (error) {
	console.error(`The newest version of codex is not known: ${error.message}.`);
	process.exitCode = 1;
}

function report(newest) {
	const isMissing = !known.includes(newest);
	if (flags.json) console.log(JSON.stringify({known, newest, isMissing}));
	else {
		console.log(`Recorded: ${known.join(', ')}. Newest release: ${newest}.`);
		if (isMissing) console.log(`Record it with: node scripts/record-peer.mjs --peer ${newest}`);
	}
}
