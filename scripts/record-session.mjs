// Plays a session in a real terminal and writes its picture: node scripts/record-session.mjs SESSION.mjs OUT.svg
//
// A session is a module that exports SESSION: {title, columns, rows, steps}. A step is {type} for a command that ends,
// {type, shows, press} for one that goes on until a key is pressed, with {window} for another one than the one that is
// drawn; {keeps: {variable, pattern}} makes the first match on the screen a variable of the window that is drawn.
import {chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join, resolve} from 'node:path';
import {pathToFileURL} from 'node:url';
import {terminalSvg} from './lib/terminal-svg.mjs';
import {hasTmux, Terminal} from './lib/tmux.mjs';

const DRAWN = 'main';
/** Coloured, and without the exit code that the walk shows. */
const PROMPT = {text: '\\[\\e[32m\\]$\\[\\e[0m\\] ', start: /^\$/};

const [sessionFile, out] = process.argv.slice(2);
if (out === undefined) fail('usage: node scripts/record-session.mjs SESSION.mjs OUT.svg');
if (!hasTmux) fail('tmux is needed to play a session');

const {SESSION} = await import(pathToFileURL(resolve(sessionFile)).href);
const {title = 'longarm', columns = 80, rows = 24, steps} = SESSION;
const directory = mkdtempSync(join(tmpdir(), 'longarm-session-'));
const terminal = await openTerminal();
try {
	const windows = new Set([DRAWN]);
	for (const step of steps) await play(step, windows);
	const screen = terminal.screen(DRAWN, {colours: true, history: true, joined: false});
	writeFileSync(out, terminalSvg(withoutLastPrompt(screen), {columns, title}));
} finally {
	terminal.close();
	rmSync(directory, {recursive: true, force: true, maxRetries: 3});
}

async function openTerminal() {
	const bin = join(directory, 'bin');
	mkdirSync(bin);
	const program = new URL('../dist/bin/longarm.js', import.meta.url).pathname;
	writeFileSync(join(bin, 'longarm'), `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`);
	chmodSync(join(bin, 'longarm'), 0o755);
	const variables = {PATH: `${bin}:/usr/bin:/bin`, HOME: directory};
	return Terminal.open({directory, columns, rows, variables, prompt: PROMPT});
}

async function play({window = DRAWN, type, shows, press, keeps}, windows) {
	if (!windows.has(window)) await terminal.window(window);
	windows.add(window);
	const prompts = terminal.prompts(window) + 1;
	terminal.type(window, type, 'Enter');
	if (shows !== undefined) await terminal.until(window, screen => screen.includes(shows));
	if (press !== undefined) terminal.type(window, '', press);
	if (shows === undefined || press !== undefined) await terminal.atPrompt(window, prompts);
	if (keeps) await keep(keeps, terminal.screen(window));
}

/** Out of sight: what is typed for it is cleared away. */
async function keep({variable, pattern}, screen) {
	const prompts = terminal.prompts(DRAWN) + 1;
	terminal.type(DRAWN, `${variable}=${pattern.exec(screen)[0]}`, 'Enter');
	await terminal.atPrompt(DRAWN, prompts);
	await terminal.clear(DRAWN);
}

/** The prompt that waits for more is no part of the session; the home directory has its usual name. */
function withoutLastPrompt(screen) {
	return screen.replaceAll(directory, '~').split('\n').slice(0, -1).join('\n');
}

function fail(message) {
	console.error(message);
	process.exit(2);
}
