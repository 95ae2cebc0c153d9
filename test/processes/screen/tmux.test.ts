import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, test} from 'vitest';
import type {ScreenResult} from '../../../src/processes/screen/kept-screen.js';
import {needs} from '../../helpers/needs.js';
import {served} from '../../helpers/process-api.js';
import {eventually} from '../../helpers/processes.js';
import {scratchDirectory} from '../../helpers/scratch.js';
import type {TestClient} from '../../helpers/test-client.js';
import {TmuxPane} from '../../helpers/tmux-pane.js';

const ROWS = 12;
const COLUMNS = 40;
const TITLE = 'all is written';
/** Sets the title behind everything else, and stays. */
const FINISH = String.raw`printf '\033]2;${TITLE}\007'; exec sleep 1000`;

/** The same program in tmux and in a terminal of ours. */
class BothTerminals {
	readonly pane: TmuxPane;
	readonly client: TestClient;

	static async run(script: string): Promise<BothTerminals> {
		const {client} = await served();
		const wrapped = `export TERM=xterm-256color LC_ALL=C.UTF-8 LESSHISTFILE=-; ${script}`;
		const both = new BothTerminals(TmuxPane.open(wrapped, ROWS, COLUMNS), client);
		await client.sh('p', wrapped, {io: {pty: {rows: ROWS, cols: COLUMNS}}});
		return both;
	}

	private constructor(pane: TmuxPane, client: TestClient) {
		this.pane = pane;
		this.client = client;
	}

	async type(tmuxKey: string, text: string): Promise<void> {
		this.pane.type(tmuxKey);
		await this.client.write('p', text);
	}

	screen(params: Record<string, unknown> = {}): Promise<ScreenResult> {
		return this.client.call<ScreenResult & Record<string, unknown>>('process/screen', {processId: 'p', ...params});
	}

	/** Waits until both have set the title. */
	async finished(): Promise<ScreenResult> {
		await eventually(() => this.pane.value('pane_title') === TITLE);
		await this.client.shows('p', TITLE);
		return this.screen();
	}

	/** Waits until the screens of both show this. */
	async shows(text: string): Promise<ScreenResult> {
		await eventually(() => this.pane.lines.some(line => line.includes(text)));
		for (;;) {
			const screen = await this.screen();
			if (screen.lines.some(line => line.includes(text))) return screen;
			const {length} = this.client.events;
			await this.client.until(() => this.client.events.length > length);
		}
	}

	/** The screen of tmux. */
	get expected(): View {
		const names = ['cursor_y', 'cursor_x', 'cursor_flag', 'alternate_on', 'pane_height', 'pane_width'];
		return {lines: this.pane.lines, numbers: names.map(name => Number(this.pane.value(name)))};
	}
}

/** The parts of a screen that tmux tells, too. */
interface View {
	readonly lines: readonly string[];
	readonly numbers: readonly number[];
}

function viewOf({lines, cursor, alternate, rows, cols}: ScreenResult): View {
	return {lines, numbers: [cursor.row, cursor.col, cursor.isVisible, alternate, rows, cols].map(Number)};
}

/** Shell commands that draw something. */
const DRAWINGS = {
	'plain output that wraps and scrolls': `seq 1 30; printf '%0100d\\n' 7; printf 'no newline'`,
	'movements of the cursor': String.raw`printf 'one\r\ntwo\033[5;10Hthere\033[2Aup\033[3Ddown\033[1G>\033[8d=\0337\033[Hhome\0338!'`,
	'erased and inserted parts': String.raw`seq 1 9; printf 'abcdef\033[3D\033[K\033[5;1H\033[2L\033[8;2H\033[M\033[2;1Hwide\033[2D\033[2@\033[3;1Hxyz\033[3D\033[P\033[6;1H\033[1J'`,
	'a scrolling region': String.raw`seq 1 11; printf '\033[3;7r\033[7;1Ha\nb\nc\033[3;1H\033M\033Mtop\033[r\033[12;1Hlast'`,
	'tabs and tab stops': String.raw`printf 'a\tb\tc\r\n\033[3g\033[1;5H\033H\033[1;9H\033H\r\n\tx\ty\033[Zq'`,
	'wide characters and emoji': String.raw`printf '漢字かな交じり文 \360\237\230\200 한글 ｆｕｌｌ\r\n'; printf '%039d漢' 0; printf '\r\ne\314\201te\314\201 \033[1D漢\033[1D.\r\n'`,
	'colours and attributes': String.raw`printf '\033[1;31mred\033[0m \033[4;48;5;20mblue\033[m \033[38;2;1;2;3mrgb\033[7m inverse \033[27m\033[0;9mout\033[m'`,
	'insert mode, origin mode and no wrapping': String.raw`printf 'abc\r\033[4hX\033[4l\033[3;6r\033[?6h\033[1;1Horigin\033[?6l\033[r\033[9;1H\033[?7l%060d\033[?7h' 5`,
	'the other screen and back': String.raw`seq 1 5; printf '\033[?1049h\033[Hother\033[?1049lback'`,
	'the other screen with a hidden cursor': String.raw`seq 1 5; printf '\033[?1049h\033[?25l\033[2;3Hother'`,
	'repeated characters and a reset': String.raw`printf 'gone\033[5;5r\033c-\033[20b|'`,
};

describe('a screen is that of tmux for', needs('tmux'), () => {
	test.each(Object.entries(DRAWINGS))('%s', async (_name, script) => {
		const both = await BothTerminals.run(`${script}; ${FINISH}`);
		expect(viewOf(await both.finished())).toEqual(both.expected);
	});

	test('an editor', needs('vim'), async () => {
		const path = join(scratchDirectory(), 'text');
		writeFileSync(path, Array.from({length: 60}, (_, line) => `line ${line} ${'äöü'.repeat(line)}\n`).join(''));
		const both = await BothTerminals.run(`exec vim -u NONE -i NONE -n -N --cmd 'set t_RV= t_u7=' +30 '${path}'`);
		expect(viewOf(await both.shows('line 29'))).toEqual(both.expected);
		await both.type('G', 'G');
		expect(viewOf(await both.shows('line 59'))).toEqual(both.expected);
	});

	test('a pager, page by page, and after it was left', needs('less'), async () => {
		const path = join(scratchDirectory(), 'text');
		writeFileSync(path, Array.from({length: 30}, (_, line) => `line ${line}\n`).join(''));
		const both = await BothTerminals.run(`echo before; less '${path}'; echo after; ${FINISH}`);
		expect(viewOf(await both.shows('line 10'))).toEqual(both.expected);
		await both.type('Space', ' ');
		expect(viewOf(await both.shows('line 21'))).toEqual(both.expected);
		await both.type('q', 'q');
		expect(viewOf(await both.finished())).toEqual(both.expected);
	});

	test('a terminal that gets narrower, and a program that draws anew', async () => {
		const draw = `trap 'clear; stty size; seq 1 20' WINCH; echo ready; printf '%060d' 3; while :; do sleep 0.05; done`;
		const both = await BothTerminals.run(draw);
		await both.shows('0003');
		both.pane.resize(8, 30);
		await both.client.call('process/resize', {processId: 'p', rows: 8, cols: 30});
		expect(viewOf(await both.shows('20'))).toEqual(both.expected);
	});
});

test('a past screen is shown with the size that the terminal had then', async () => {
	const {client} = await served();
	await client.sh('p', `stty -echo; printf first; read x; stty size; read x; echo bye`, {
		io: {pty: {rows: 5, cols: 20}},
	});
	await client.shows('p', 'first');
	await client.call('process/resize', {processId: 'p', rows: 7, cols: 30});
	await client.write('p', '\n');
	await client.shows('p', '7 30');
	const before = await client.call('process/screen', {processId: 'p', atSeq: 1});
	expect(before).toMatchObject({rows: 5, cols: 20, lines: ['first', '', '', '', ''], seq: 1});
	expect(await client.call('process/screen', {processId: 'p'})).toMatchObject({rows: 7, cols: 30});
	await client.write('p', '\n');
	const {seq} = await client.event('p', 'process/closed');
	expect(await client.call('process/screen', {processId: 'p'})).toMatchObject({seq, cursor: {isVisible: true}});
});

test('a process without a terminal has no screen, and neither has one that is not there', async () => {
	const {client} = await served();
	await client.sh('p', 'true');
	await expect(client.call('process/screen', {processId: 'p'})).rejects.toThrow('process p has no terminal');
	await expect(client.call('process/screen', {processId: 'q'})).rejects.toThrow('unknown process id q');
	await client.sh('t', 'read x', {tty: true});
	await expect(client.call('process/screen', {processId: 't', atMs: 1})).rejects.toThrow('only output on disk');
});
