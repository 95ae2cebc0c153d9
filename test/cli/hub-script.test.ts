// covers: src/cli/commands/hub, src/cli/commands/serve/serve-remote.ts, src/cli/commands/env
// The forms that scripts rely on, typed as a script would, and what happens when things go wrong.
import {spawnSync} from 'node:child_process';
import {chmodSync, mkdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, onTestFinished, test} from 'vitest';
import {Command, PROGRAM, run} from '../helpers/command.js';
import {isRoot, needsRoot, unless} from '../helpers/needs.js';
import {scratchDirectory} from '../helpers/scratch.js';

/** Ends a script that hangs. */
const MAX_SCRIPT_MS = 100_000;

const SCRIPT = `
set -eu
umask 077
wait_for() { until grep -qs "$1" "$2"; do kill -0 "$3" || { cat "$2" >&2; exit 1; }; sleep 0.05; done; }
longarm hub --listen http://127.0.0.1:0 --data hub > url 2> hub.log & hub=$!
trap 'kill $hub $(cat pids 2>/dev/null) 2>/dev/null; wait' EXIT
wait_for http url $hub
url=$(cat url)
longarm hub token create executor 'box-*' --data hub > executor.token
longarm hub token create client 'box-*' --data hub > client.token
test "$(wc -l < executor.token)" = 1

CODEX_API_KEY=$(cat executor.token) longarm serve --remote "$url" --environment-id box-1 2> 1.log & one=$!
longarm serve --remote "$url" --environment-id box-2 --token-file executor.token 2> 2.log & two=$!
mkfifo credential
longarm serve --remote "$url" --environment-id box-3 --executor-credential-stdin < credential 2> 3.log & three=$!
echo $one $two $three > pids
exec 3> credential
printf '{"version":1,"environment_id":"box-3","token":"%s","expires_at":%d}\\n' "$(cat executor.token)" $(($(date +%s)+60)) >&3
wait_for online 1.log $one; wait_for online 2.log $two; wait_for online 3.log $three

for n in 1 2 3; do
	longarm env add machine-$n registry+$url/box-$n --token-file client.token > /dev/null
	longarm run -e machine-$n -- echo "from box $n"
done
echo content > file
longarm cp file machine-1:"$PWD/copied"
cat copied
longarm hub ls --data hub | cut -c 1-5 | sort
longarm env list --hub "$url" --token-file client.token --json | grep -c '"isOnline": true'

kill -9 $hub; { wait $hub || true; } 2> /dev/null
longarm hub --listen "\${url}" --data hub > again 2> again.log 3>&- & hub=$!
wait_for http again $hub
longarm run -e machine-2 -- echo 'after a restart'
exec 3>&-
wait $three
echo "ended with $?"
`;

test('every form of the documentation works in a script, and a hub that was killed is found again', () => {
	const directory = scratchDirectory();
	const bin = join(directory, 'bin');
	mkdirSync(bin);
	writeFileSync(join(bin, 'longarm'), `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`);
	chmodSync(join(bin, 'longarm'), 0o755);
	const {status, stdout, stderr} = spawnSync('bash', ['-c', SCRIPT], {
		cwd: directory,
		encoding: 'utf8',
		timeout: MAX_SCRIPT_MS,
		env: {PATH: `${bin}:${process.env['PATH']}`, HOME: directory},
	});
	expect([status, stdout, stderr]).toEqual([
		0,
		[
			'from box 1',
			'from box 2',
			'from box 3',
			'content',
			'box-1',
			'box-2',
			'box-3',
			'3',
			'after a restart',
			'ended with 0',
			'',
		].join('\n'),
		'',
	]);
});

test(
	'a hub whose directory cannot be written says so, and names its own flag',
	unless(isRoot ? 'root writes everywhere' : undefined),
	async () => {
		const data = join(scratchDirectory(), 'hub');
		mkdirSync(data, {mode: 0o500});
		const {code, stdout, stderr} = await run(['hub', '--listen', 'http://127.0.0.1:0', '--data', data]);
		expect([code, stdout]).toEqual([1, '']);
		expect(stderr).toContain(data);
		expect(stderr).toContain('--data of longarm hub');
	},
);

test('a hub on a full disk refuses new machines for now, and keeps the others', needsRoot(), async ({skip}) => {
	const data = scratchDirectory();
	const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k,mode=700', 'tmpfs', data]);
	if (mounted.status !== 0) skip('file systems cannot be mounted here');
	onTestFinished(() => void spawnSync('umount', ['-l', data]));
	const hub = new Command(['hub', '--listen', 'http://127.0.0.1:0', '--data', data, '--log-format', 'json']);
	const url = await hub.url();
	const token = (await run(['hub', 'token', 'create', 'executor', '*', '--data', data])).stdout.trim();
	const serve = (id: string): Command =>
		new Command(['serve', '--remote', url, '--environment-id', id, '--log-format', 'json'], {
			env: {CODEX_API_KEY: token, XDG_STATE_HOME: scratchDirectory()},
		});
	// Their records fill a page of memory.
	for (const id of ['before', 'also-before']) await serve(id).logs('"online"');
	spawnSync('sh', ['-c', 'cat /dev/zero > full'], {cwd: data});
	const after = serve('after');
	await after.logs('503 Service Unavailable, unavailable');
	spawnSync('rm', ['full'], {cwd: data});
	await after.logs('"online"');
	const {stdout} = await run(['hub', 'ls', '--json', '--data', data]);
	expect((JSON.parse(stdout) as {id: string; isOnline: boolean}[]).map(({id, isOnline}) => [id, isOnline])).toEqual([
		['before', true],
		['also-before', true],
		['after', true],
	]);
});

test('a hub ends at Ctrl-C, and what cannot be reached is told with a hint', async () => {
	const data = scratchDirectory();
	const hub = new Command(['hub', '--listen', 'http://127.0.0.1:0', '--data', data]);
	const url = await hub.url();
	const token = (await run(['hub', 'token', 'create', 'client', '*', '--data', data])).stdout.trim();
	hub.child.kill('SIGINT');
	expect(await hub.ended).toEqual({code: 0, signal: null});
	const listed = await run(['env', 'list', '--hub', url], {LONGARM_EXEC_SERVER_TOKEN: token});
	expect([listed.code, listed.stderr]).toEqual([1, expect.stringContaining('error sending request for url')]);
	const wrong = await run(['env', 'list', '--hub', 'hub.example']);
	expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('unknown environment `hub.example`')]);
	const gone = await run(['hub', 'ls', '--data', data]);
	expect([gone.code, gone.stderr]).toEqual([1, expect.stringContaining('hint: Start one there with longarm hub')]);
	expect(gone.stderr).not.toContain('--state');
});
