import {spawnSync} from 'node:child_process';
import {chmodSync, mkdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import type {CommandDefinition} from '../../src/cli/command-definition.js';
import {COMMANDS, GROUPS} from '../../src/cli/commands/command-list.js';
import {bashScript} from '../../src/cli/commands/completion/bash.js';
import {toCompleted} from '../../src/cli/commands/completion/completed-command.js';
import {fishScript} from '../../src/cli/commands/completion/fish.js';
import {zshScript} from '../../src/cli/commands/completion/zsh.js';
import {Command, PROGRAM, run} from '../helpers/command.js';
import {isInstalled} from '../helpers/needs.js';
import {ProcessServer} from '../helpers/process-server.js';
import {scratchDirectory} from '../helpers/scratch.js';

/** Kinds of commands that the real ones may not have. */
const MADE_UP: CommandDefinition[] = [
	{
		name: 'run',
		summary: "run a program, it's that simple: [here]",
		arguments: [{name: 'COMMAND', help: '', isRepeated: true, completes: {kind: 'command'}}],
		options: [{flags: '-e, --environment <ENV>', help: '', completes: {kind: 'environment'}}],
		passesThrough: true,
		examples: [],
		exitCodes: [],
		run: async () => 0,
	},
	{
		name: 'cp',
		summary: 'copy',
		arguments: [{name: 'PATHS', help: '', isRepeated: true, completes: {kind: 'address'}}],
		options: [{flags: '--into <DIR>', help: '', completes: {kind: 'directory'}, isRepeated: true}],
		examples: [],
		exitCodes: [],
		run: async () => 0,
	},
];
const madeUp = toCompleted(MADE_UP, []);

/** A directory with files, an environment `devbox`, and `longarm` on the path; asks bash what it would offer. */
function offering(script: string): (line: string) => string[] {
	const root = scratchDirectory();
	const [home, bin] = [join(root, 'home'), join(root, 'bin')];
	for (const name of [home, bin, join(root, 'folder')]) mkdirSync(name);
	for (const name of ['file.txt', 'filter me']) writeFileSync(join(root, name), '');
	writeFileSync(join(home, 'environments.toml'), '[[environments]]\nid = "devbox"\nurl = "ws://127.0.0.1:1"\n');
	writeFileSync(join(bin, 'longarm'), `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`);
	writeFileSync(join(bin, 'frobnicate-here'), '');
	for (const name of ['longarm', 'frobnicate-here']) chmodSync(join(bin, name), 0o755);
	writeFileSync(join(root, 'script'), script);
	return line => {
		const {status, stdout, stderr} = spawnSync(
			'bash',
			[
				'--norc',
				'-c',
				'. ./script; COMP_LINE=$1 COMP_POINT=${#1}; _longarm; printf "%s\\n" "${COMPREPLY[@]}"',
				'bash',
				line,
			],
			{cwd: root, encoding: 'utf8', env: {PATH: `${bin}:${process.env['PATH']}`, LONGARM_HOME: home}},
		);
		expect([status, stderr]).toEqual([0, '']);
		return stdout.split('\n').filter(Boolean).sort();
	};
}

test('bash offers commands, groups, options, choices, files and environments', async () => {
	const {code, stdout} = await run(['completion', 'bash']);
	expect(code).toBe(0);
	const offer = offering(stdout);
	const tops = [...COMMANDS, ...GROUPS].map(({name}) => name).filter(name => !name.includes(' '));
	const aliases = COMMANDS.flatMap(command => command.aliases ?? []);
	expect(offer('longarm ')).toEqual([...tops, ...aliases].sort());
	expect(offer('longarm exec --sandbox r')).toEqual(['read-only']);
	expect(offer('longarm ser')).toEqual(['serve']);
	expect(offer('longarm env ')).toEqual(['add', 'list', 'remove', 'test']);
	expect(offer('longarm env re')).toEqual(['remove']);
	expect(offer('longarm hub ')).toEqual(['drain', 'ls', 'status', 'token']);
	expect(offer('longarm hub --log-l')).toEqual(['--log-level']);
	expect(offer('longarm hub token ')).toEqual(['create', 'list', 'revoke']);
	expect(offer('longarm hub token create e')).toEqual(['executor']);
	expect(offer('longarm serve --log-')).toEqual(['--log-format', '--log-level']);
	expect(offer('longarm serve --log-level ')).toEqual(['auto', 'debug', 'error', 'info', 'silent', 'warn']);
	expect(offer('longarm serve --log-level=d')).toEqual(['debug']);
	expect(offer('longarm serve --log-level debug --log-f')).toEqual(['--log-format']);
	expect(offer('longarm serve --config fil')).toEqual(['file.txt', 'filter me']);
	expect(offer('longarm env add box --cwd f')).toEqual(['folder']);
	expect(offer('longarm env remove d')).toEqual(['devbox']);
	expect(offer('longarm env test devbox ')).toEqual(['devbox', 'local']);
	expect(offer('longarm forward -e d')).toEqual(['devbox']);
	expect(offer('longarm forward --environment=d')).toEqual(['devbox']);
	expect(offer('longarm forward -e unix:fil')).toEqual(['file.txt', 'filter me']);
	expect(offer('longarm completion ')).toEqual(['bash', 'fish', 'zsh']);
	expect(offer('longarm no-such ')).toEqual([]);
});

test('bash offers programs and then files to a program, and addresses of other machines', () => {
	const offer = offering(bashScript(madeUp));
	expect(offer('longarm run frobn')).toEqual(['frobnicate-here']);
	expect(offer('longarm run -e devbox -- frobn')).toEqual(['frobnicate-here']);
	expect(offer('longarm run frobnicate-here fil')).toEqual(['file.txt', 'filter me']);
	expect(offer('longarm run frobnicate-here --env')).toEqual([]);
	expect(offer('longarm run -')).toEqual(['--environment', '--help', '-e', '-h']);
	expect(offer('longarm cp d')).toEqual(['devbox:']);
	expect(offer('longarm cp fol')).toEqual(['folder']);
	expect(offer('longarm cp unix:fil')).toEqual(['file.txt', 'filter me']);
	expect(offer('longarm cp unix:file.txt:fil')).toEqual([]);
	expect(offer('longarm cp devbox:/et')).toEqual([]);
	expect(offer('longarm cp devbox:/etc/passwd fil')).toEqual(['file.txt', 'filter me']);
});

test('bash offers paths of another machine behind the colon, without what a terminal would obey', async () => {
	const url = await new Command(['serve', '--listen', 'ws://127.0.0.1:0', '--log-level', 'silent']).url();
	const root = scratchDirectory();
	for (const name of ['folder', 'from']) mkdirSync(join(root, name));
	for (const name of ['file', '.hidden', 'fi\u001B[31m', 'fo o']) writeFileSync(join(root, name), '');
	const offer = offering(bashScript(madeUp));
	expect(offer(`longarm cp ${url}:${root}/f`)).toEqual(
		['file', 'fo o', 'folder/', 'from/'].map(name => `${root}/${name}`),
	);
	expect(offer(`longarm cp ${url}:${root}/.h`)).toEqual([`${root}/.hidden`]);
	expect(offer(`longarm cp ${url}:${root}/none/`)).toEqual([]);
});

test('bash offers ids and names of processes of the environment on the line, without what a terminal would obey', async () => {
	const server = await ProcessServer.start();
	const id = await server.detached('--name', 'nightly', '--', 'sleep', '1000');
	await server.detached('--name', 'nice', '--', 'true');
	const offer = offering(bashScript(toCompleted(COMMANDS, GROUPS)));
	expect(offer(`longarm logs -e ${server.url} -f ni`)).toEqual(['nice', 'nightly']);
	expect(offer(`longarm attach --environment=${server.url} nig`)).toEqual(['nightly']);
	expect(offer(`longarm wait -e ${server.url} ${id.slice(0, 6)}`)).toContain(id);
	expect(offer(`longarm stop -e ${server.url} nightly ni`)).toEqual(['nice', 'nightly']);
	expect(offer(`longarm stop -e ${server.url} --signal K`)).toEqual(['KILL']);
	expect(offer('longarm logs -e devbox n')).toEqual([]);
	expect(offer('longarm logs n')).toEqual([]);
});

const SCRIPTS = [
	['bash', ['-n'], bashScript],
	['zsh', ['-n'], zshScript],
	['fish', ['--no-execute'], fishScript],
] as const;

test.each(SCRIPTS)('the script for %s has every command and option', (shell, _flags, script) => {
	for (const completed of [toCompleted(COMMANDS, GROUPS), madeUp]) {
		const text = script(completed);
		for (const {words, options} of completed.commands) {
			for (const {long} of options) expect(text).toContain(shell === 'fish' ? `-l ${long.slice(2)}` : long);
			expect(text).toContain(words.at(-1));
		}
	}
});

test.for(SCRIPTS)('%s can read its script', ([shell, flags, script], {skip}) => {
	if (!isInstalled(shell)) skip(`${shell} is not installed`);
	for (const completed of [toCompleted(COMMANDS, GROUPS), madeUp]) {
		const file = join(scratchDirectory(), 'script');
		writeFileSync(file, script(completed));
		const {status, stderr} = spawnSync(shell, [...flags, file], {encoding: 'utf8'});
		expect([status, stderr]).toEqual([0, '']);
	}
});

test('a shell nobody knows is a mistake', async () => {
	const {code, stdout, stderr} = await run(['completion', 'tcsh']);
	expect([code, stdout]).toEqual([2, '']);
	expect(stderr).toMatch(/^error: no completion for `tcsh`; known are bash, zsh, fish\nhint: /);
});
