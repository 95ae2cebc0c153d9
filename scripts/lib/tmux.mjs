// A terminal to drive: a tmux server of its own, with programs that see a fixed size, language and prompt.
import {spawn, spawnSync} from 'node:child_process';
import {join} from 'node:path';

const SESSION = 'longarm';
/** What a shell says when it waits for a command; `start` is how that looks at the beginning of a line. */
const PROMPT = {text: '[$?] $ ', start: /^\[\d+\] \$/};

export const hasTmux = spawnSync('tmux', ['-V']).status === 0;

/**
 * Windows of one tmux server. Whatever is waited for is looked at when tmux tells that something was printed, and at no
 * other time.
 */
export class Terminal {
	#socket;
	#control;
	#watchers = new Set();
	#shell;
	#prompt;

	/** `directory` is for the socket; `variables` are all that programs see besides what a terminal sets. */
	static async open({directory, columns, rows, variables, cwd = directory, prompt = PROMPT}) {
		const terminal = new Terminal();
		terminal.#socket = join(directory, 'tmux.sock');
		terminal.#prompt = prompt.start;
		const words = Object.entries({...variables, LANG: 'C.UTF-8', HISTFILE: '/dev/null', PS1: prompt.text}).map(
			([name, value]) => quoted(`${name}=${value}`),
		);
		terminal.#shell = `cd ${quoted(cwd)} && exec env -i TERM=screen-256color ${words.join(' ')} bash --norc --noprofile`;
		terminal.tmux(
			'new-session',
			'-d',
			'-s',
			SESSION,
			'-x',
			String(columns),
			'-y',
			String(rows),
			'-n',
			'main',
			terminal.#shell,
		);
		for (const [option, value] of [
			['status', 'off'],
			['history-limit', '10000'],
		]) {
			terminal.tmux('set-option', '-g', option, value);
		}
		await terminal.#listen(`${columns}x${rows}`);
		// Whoever drives it may be killed: then it ends, and with it what runs in it.
		terminal.tmux('set-option', '-s', 'exit-unattached', 'on');
		await terminal.atPrompt('main');
		return terminal;
	}

	/** Another window, with a shell at its prompt. */
	async window(name) {
		this.tmux('new-window', '-d', '-n', name, this.#shell);
		await this.atPrompt(name);
	}

	/** Runs a command with a clean screen before it, and waits for its end, or for what it shows. */
	async run(window, command, shows) {
		await this.clear(window);
		this.type(window, command, 'Enter');
		if (shows === undefined) await this.atPrompt(window, 2);
		else await this.until(window, screen => screen.includes(shows));
	}

	/** Types something below what is there, and waits for the next prompt, or for what is shown then. */
	async next(window, command, shows) {
		const prompts = this.prompts(window);
		this.type(window, command, 'Enter');
		if (shows === undefined) await this.atPrompt(window, prompts + 1);
		else await this.until(window, screen => screen.includes(shows));
	}

	/** Leaves a prompt, and nothing that was scrolled away. */
	async clear(window) {
		if (!this.#isPrompt(this.screen(window))) {
			this.type(window, 'clear', 'Enter');
			await this.until(window, screen => this.#isPrompt(screen.trim()));
		}
		this.tmux('clear-history', '-t', window);
	}

	/** Text as it is, then a key by its name. */
	type(window, text, key) {
		if (text !== '') this.tmux('send-keys', '-t', window, '-l', text);
		if (key !== undefined) this.tmux('send-keys', '-t', window, key);
	}

	/** Lines as they are, those that were broken put together again unless told otherwise; with colours as escapes if asked for. */
	screen(window, {colours = false, history = false, joined = true} = {}) {
		return this.tmux(
			'capture-pane',
			'-p',
			...(joined ? ['-J'] : []),
			...(colours ? ['-e'] : []),
			...(history ? ['-S', '-'] : []),
			'-t',
			window,
		)
			.replaceAll(/ +$/gm, '')
			.trimEnd();
	}

	async until(window, probe) {
		let check;
		await new Promise(resolve => {
			check = () => probe(this.screen(window)) && resolve();
			this.#watchers.add(check);
			check();
		});
		this.#watchers.delete(check);
	}

	/** Waits until the shell waits for a command, with so many prompts to be seen, those that were scrolled away too. */
	atPrompt(window, prompts = 1) {
		return this.until(window, screen => this.#isPrompt(screen.split('\n').at(-1)) && this.prompts(window) >= prompts);
	}

	prompts(window) {
		const lines = this.screen(window, {history: true}).split('\n');
		return lines.filter(line => this.#prompt.test(line)).length;
	}

	close() {
		this.#control.kill('SIGKILL');
		spawnSync('tmux', ['-S', this.#socket, 'kill-server']);
	}

	tmux(...args) {
		const {status, stdout, stderr} = spawnSync('tmux', ['-S', this.#socket, '-f', '/dev/null', ...args], {
			encoding: 'utf8',
		});
		if (status !== 0) throw new Error(`tmux ${args[0]}: ${stderr}`);
		return stdout;
	}

	#isPrompt(line) {
		return this.#prompt.test(line) && line.replace(this.#prompt, '') === '';
	}

	/** A client in control mode is told of everything that is printed; windows are as large as it says. */
	async #listen(size) {
		this.#control = spawn('tmux', ['-S', this.#socket, '-C', 'attach', '-t', SESSION], {
			stdio: ['pipe', 'pipe', 'ignore'],
		});
		this.#control.stdin.write(`refresh-client -C ${size}\n`);
		await new Promise(resolve => {
			this.#control.stdout.on('data', () => {
				resolve();
				for (const check of this.#watchers) check();
			});
		});
	}
}

function quoted(text) {
	return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
