import {spawnSync} from 'node:child_process';
import {existsSync, mkdirSync, readdirSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

const PEER = '@openai/codex@0.166.0';

/** The peer's program: the one `CODEX_BIN` names, else one that is installed in a scratch folder. */
export function stockCodex() {
	if (process.env.CODEX_BIN) return process.env.CODEX_BIN;
	const folder = join(tmpdir(), `longarm-interop-${PEER.replace(/[^\w.]/g, '-')}`);
	if (!existsSync(join(folder, 'node_modules'))) {
		console.log(`installing ${PEER}`);
		mkdirSync(folder, {recursive: true});
		const {status} = spawnSync(
			'npm',
			['install', '--prefix', folder, '--no-audit', '--no-fund', '--loglevel=error', PEER],
			{stdio: 'inherit'},
		);
		if (status !== 0) process.exit(status ?? 1);
	}
	const modules = join(folder, 'node_modules/@openai');
	for (const name of readdirSync(modules)) {
		const vendor = join(modules, name, 'vendor');
		const place =
			existsSync(vendor) &&
			readdirSync(vendor)
				.map(each => join(vendor, each, 'bin/codex'))
				.find(existsSync);
		if (place) return place;
	}
	throw new Error(`${PEER} has no program for this machine`);
}
