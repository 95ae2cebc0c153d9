import {type ChildProcess, spawn} from 'node:child_process';
import {once} from 'node:events';
import {chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, onTestFinished, test} from 'vitest';
import {COMMANDS} from '../../src/cli/commands/command-list.js';
import {Command, PROGRAM} from '../helpers/command.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {rawOrigin} from '../network/origin.js';

const page = readFileSync(new URL('../../docs/getting-started.md', import.meta.url), 'utf8');

/** What somebody who reads the page types, and what the page says happens. */
interface Line {
	readonly typed: string;
	readonly shown: string;
}

/** What belongs together, in the order of the page. */
const blocks: Line[][] = [...page.matchAll(/```console\n([^]*?)```/g)].map(([, block]) =>
	block!
		.split(/^\$ /m)
		.filter(text => text !== '')
		.map(text => {
			const [typed, ...shown] = text.split('\n');
			return {typed: typed!, shown: shown.join('\n')};
		}),
);

/** They need a terminal, or go on until Ctrl-C. */
const NOT_TYPED: ReadonlySet<string | undefined> = new Set(['serve', 'shell', 'forward']);

const commandIn = ({typed}: Line): string | undefined => /^longarm (env \w+|\w+)/.exec(typed)?.[1];
const isThere = (name: string | undefined): boolean =>
	name === undefined || COMMANDS.some(command => command.name === name);

test('the page uses commands by their names', () => {
	const used = new Set(blocks.flat().map(commandIn));
	for (const name of ['serve', 'env add', 'run', 'shell', 'cp', 'ls', 'cat', 'get', 'put', 'forward']) {
		expect(used).toContain(name);
	}
});

test('what the page says works, from the first command to the last', async () => {
	const {directory, variables} = place();
	const server = new Command(['serve', '--listen', 'ws://127.0.0.1:0', '--allow-forward', 'loopback']);
	const url = await server.url();
	const {port} = await rawOrigin(socket => socket.end('from there'));
	const note = join(directory, 'far-note.txt');
	const here = (text: string): string =>
		text
			.replaceAll('ws://127.0.0.1:4500', url)
			.replaceAll('/tmp/longarm-note.txt', note)
			.replaceAll('8080:3000', `0:${port}`);
	const shell = new Shell(directory, variables);
	const played = blocks.filter(block => block.every(line => isThere(commandIn(line)))).flat();
	for (const line of played.filter(each => !NOT_TYPED.has(commandIn(each)))) {
		const {code, output} = await shell.run(here(line.typed));
		expect([line.typed, code]).toEqual([line.typed, Number(/exit (\d)/.exec(line.typed)?.[1] ?? 0)]);
		expect(output).toMatch(asPattern(here(line.shown)));
	}
	const forward = new Command(['forward', '-e', 'devbox', `0:${port}`], {env: variables});
	await forward.until(() => forward.stdout.includes('\n'), 'a line for the port');
	expect(forward.stdout).toMatch(new RegExp(`^127\\.0\\.0\\.1:\\d+ -> localhost:${port} of devbox\n$`));
	expect(existsSync(join(directory, 'copy.txt'))).toBe(played.some(line => commandIn(line) === 'get'));
});

function place(): {directory: string; variables: Record<string, string>} {
	const directory = scratchDirectory();
	const bin = join(directory, 'bin');
	mkdirSync(bin);
	writeFileSync(join(bin, 'longarm'), `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`);
	chmodSync(join(bin, 'longarm'), 0o755);
	return {
		directory,
		variables: {PATH: `${bin}:${process.env['PATH']}`, HOME: directory, LONGARM_HOME: join(directory, 'home')},
	};
}

/** One bash for all commands of the page, since each sees how the one before ended. */
class Shell {
	readonly #child: ChildProcess;
	#output = '';

	constructor(cwd: string, env: Record<string, string>) {
		this.#child = spawn('bash', ['--norc'], {cwd, env, stdio: ['pipe', 'pipe', 'inherit']});
		this.#child.stdout!.setEncoding('utf8').on('data', (text: string) => {
			this.#output += text;
		});
		onTestFinished(() => void this.#child.kill('SIGKILL'));
	}

	async run(command: string): Promise<{code: number; output: string}> {
		this.#output = '';
		// What is typed next is no input of this one.
		this.#child.stdin!.write(`${command} < /dev/null\n__code=$?; echo "-- $__code"; (exit $__code)\n`);
		while (!/^-- \d+\n$/m.test(this.#output)) await once(this.#child.stdout!, 'data');
		const [, output, code] = /^([^]*)-- (\d+)\n$/.exec(this.#output)!;
		return {code: Number(code), output: output!};
	}
}

/** The page as it is, but for the end of a line it leaves open; where it shows nothing, anything will do. */
function asPattern(text: string): RegExp {
	const literal = text.trim().replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
	return new RegExp(literal === '' ? '' : `^${literal.replaceAll('…', '.*')}\n`);
}
