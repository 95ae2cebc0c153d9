import {spawnSync} from 'node:child_process';
import {join} from 'node:path';
import {onTestFinished} from 'vitest';
import {optionalProgram} from './needs.js';
import {scratchDirectory} from './scratch.js';

/** A program in a terminal of tmux, without lines above the screen; ended with the test. */
export class TmuxPane {
	readonly #socket: string;

	static open(script: string, rows: number, columns: number): TmuxPane {
		const pane = new TmuxPane(join(scratchDirectory(), 'tmux'));
		onTestFinished(() => void pane.tmux('kill-server'));
		const options = 'start-server ; set-option -g history-limit 0 ; set-option -g status off ; new-session -d'.split(
			' ',
		);
		pane.tmux(...options, '-x', String(columns), '-y', String(rows), script);
		return pane;
	}

	private constructor(socket: string) {
		this.#socket = socket;
	}

	type(...keys: string[]): void {
		this.tmux('send-keys', ...keys);
	}

	resize(rows: number, columns: number): void {
		this.tmux('resize-window', '-x', String(columns), '-y', String(rows));
	}

	/** The lines as they are shown, without blanks at their ends. */
	get lines(): string[] {
		return this.tmux('capture-pane', '-p', '-N')
			.slice(0, -1)
			.split('\n')
			.map(line => line.trimEnd());
	}

	/** A value of tmux by its name. */
	value(name: string): string {
		return this.tmux('display-message', '-p', `#{${name}}`).trim();
	}

	tmux(...args: string[]): string {
		return spawnSync(optionalProgram('tmux'), ['-u', '-S', this.#socket, '-f', '/dev/null', ...args], {
			encoding: 'utf8',
			env: {...process.env, SHELL: '/bin/sh', LC_ALL: 'C.UTF-8', TERM: 'xterm-256color'},
		}).stdout;
	}
}
