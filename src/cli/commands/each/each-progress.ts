import {isFailure} from '../../../environments/many/machine-outcome.js';
import type {MachineResult} from '../../../environments/many/run-on-each.js';
import {printable} from '../../common/printable.js';
import {type ProgressClock, type ProgressScreen, StatusLine} from '../../common/progress/status-line.js';

/** One line on a terminal: how many machines are done, how many failed, and which are waited for. */
export class EachProgress {
	readonly #total: number;
	readonly #running = new Set<string>();
	readonly #line: StatusLine;
	#done = 0;
	#failed = 0;

	constructor(total: number, screen: ProgressScreen = process.stderr, clock?: ProgressClock) {
		this.#total = total;
		this.#line = new StatusLine(screen, width => this.#render(width), clock);
	}

	start(id: string): void {
		this.#running.add(id);
	}

	finish({id, outcome}: Pick<MachineResult, 'id' | 'outcome'>): void {
		this.#running.delete(id);
		this.#done++;
		if (isFailure(outcome)) this.#failed++;
	}

	end(): void {
		this.#line.end();
	}

	#render(width: number): string {
		const failed = this.#failed > 0 ? `, ${this.#failed} failed` : '';
		const running = this.#running.size > 0 ? `, waiting for ${[...this.#running].join(' ')}` : '';
		return printable(`${this.#done} of ${this.#total} done${failed}${running}`).slice(0, Math.max(0, width));
	}
}
