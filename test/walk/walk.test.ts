// What people see, in a real terminal. After a change that is meant: npx vitest run test/walk -u, and look at the diff.
import {chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {PROGRAM} from '../helpers/command.js';
import {needs} from '../helpers/needs.js';
import {SCENES, type Scene, type Step} from './scenes.js';
import {tidy} from './tidy.js';

const MAIN = 'main';

interface Terminal {
	window(name: string): Promise<void>;
	run(window: string, command: string, shows?: string): Promise<void>;
	next(window: string, command: string, shows?: string): Promise<void>;
	type(window: string, text: string, key?: string): void;
	atPrompt(window: string, prompts?: number): Promise<void>;
	until(window: string, probe: (screen: string) => boolean): Promise<void>;
	screen(window: string): string;
	close(): void;
}

interface Driver {
	readonly Terminal: {open(options: Record<string, unknown>): Promise<Terminal>};
}

/** The script is plain JavaScript and has no types. */
const {Terminal} = (await import(new URL('../../scripts/lib/tmux.mjs', import.meta.url).href)) as Driver;

describe('a walk through the commands, in tmux', needs('tmux'), () => {
	const windows = new Set([MAIN]);
	let directory: string;
	let terminal: Terminal | undefined;

	beforeAll(async () => {
		if (!existsSync(PROGRAM)) throw new Error(`${PROGRAM} is missing: npm run build`);
		directory = mkdtempSync(join(tmpdir(), 'longarm-walk-'));
		const bin = join(directory, 'bin');
		mkdirSync(bin);
		writeFileSync(join(bin, 'longarm'), `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`);
		chmodSync(join(bin, 'longarm'), 0o755);
		const variables = {PATH: `${bin}:/usr/bin:/bin`, HOME: directory, LONGARM_HOME: join(directory, 'home')};
		terminal = await Terminal.open({directory, columns: 100, rows: 30, variables});
	});

	afterAll(() => {
		terminal?.close();
		rmSync(directory, {recursive: true, force: true});
	});

	test.each(SCENES.map(scene => [scene.name, scene] as const))('%s', async (name, scene) => {
		await play(terminal!, scene, windows);
		const screen = terminal!.screen(scene.window ?? MAIN);
		await expect(tidy(screen, directory)).toMatchFileSnapshot(`screens/${name}.txt`);
		if (scene.keeps) await keep(terminal!, scene.keeps, screen);
	});
});

async function play(terminal: Terminal, {window = MAIN, steps}: Scene, windows: Set<string>): Promise<void> {
	if (!windows.has(window)) await terminal.window(window);
	windows.add(window);
	for (const [index, step] of steps.entries()) await take(terminal, window, step, index === 0);
}

async function take(terminal: Terminal, window: string, step: Step, isFirst: boolean): Promise<void> {
	const {type, keys, shows, press} = step;
	if (keys !== undefined) terminal.type(window, keys);
	if (type === '' && shows !== undefined) await terminal.until(window, screen => screen.includes(shows));
	if (type !== '') await (isFirst ? terminal.run(window, type, shows) : terminal.next(window, type, shows));
	if (press === undefined) return;
	terminal.type(window, '', press);
	await terminal.atPrompt(window, type === '' ? 1 : 2);
}

async function keep(
	terminal: Terminal,
	{variable, pattern}: NonNullable<Scene['keeps']>,
	screen: string,
): Promise<void> {
	await terminal.run(MAIN, `${variable}=${pattern.exec(screen)![0]}`);
}
