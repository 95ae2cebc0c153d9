import {spawn} from 'node:child_process';
import {mkdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';

/**
 * A stock executor waits up to 1, 2, 4, 8 s and so on after each loss, and forgets that after a connection of two minutes;
 * with a pause above 25 s a client before codex 0.169 would not wait for it. A node that is lost may cost it two: the next one may be the wrong one.
 */
const STOCK = {maxSteps: 4, stepsPerLoss: 2, forgetsAfterMs: 130_000};

/** `longarm serve` behind a hub, which ends with this process. */
export class OwnExecutor {
	#child;

	constructor({id, url, token, scratch, command, log}) {
		const tokenFile = join(scratch, `${id}.token`);
		writeFileSync(tokenFile, token, {mode: 0o600});
		const args = ['serve', '--remote', url, '--environment-id', id, '--token-file', tokenFile, '--log-level', log];
		const env = {...process.env, XDG_STATE_HOME: join(scratch, id)};
		this.#child = spawnWithUs(process.execPath, [command, ...args], env);
	}

	/** How it has ended; undefined while it runs. */
	get end() {
		return endOf(this.#child);
	}

	/** It comes back soon, however often its node is lost. */
	mayLose() {
		return true;
	}

	lose() {}

	stop() {
		this.#child.kill('SIGTERM');
	}
}

/** The stock program behind a hub, with a balancer of its own, which tells the node that it is connected to. */
export class StockExecutor {
	/** How often its node was lost. */
	losses = 0;
	#child;
	#balancer;
	#steps = 0;
	#lostAt = Number.NEGATIVE_INFINITY;

	constructor({id, url, balancer, token, scratch, codex}) {
		this.#balancer = balancer;
		const home = join(scratch, id);
		const temporary = join(home, 'tmp');
		mkdirSync(temporary, {recursive: true});
		// It makes its helpers below its home, unless that is in the temporary directory.
		const env = {PATH: process.env.PATH, HOME: home, CODEX_HOME: home, TMPDIR: temporary, CODEX_API_KEY: token};
		this.#child = spawnWithUs(codex, ['exec-server', '--remote', url, '--environment-id', id], env);
	}

	get end() {
		return endOf(this.#child);
	}

	/** Whether it would come back in time if that node was lost. */
	mayLose(node) {
		if (performance.now() - this.#lostAt > STOCK.forgetsAfterMs) this.#steps = 0;
		return !this.#balancer.isUsing(node.url) || this.#steps + STOCK.stepsPerLoss <= STOCK.maxSteps;
	}

	/** The node is about to be lost. */
	lose(node) {
		if (!this.#balancer.isUsing(node.url)) return;
		this.losses++;
		this.#steps += STOCK.stepsPerLoss;
		this.#lostAt = performance.now();
	}

	stop() {
		this.#balancer.close();
		this.#child.kill('SIGTERM');
	}
}

function spawnWithUs(program, args, env) {
	const child = spawn(program, args, {env, stdio: ['ignore', 'ignore', 'inherit']});
	process.on('exit', () => child.kill('SIGKILL'));
	return child;
}

function endOf({exitCode, signalCode}) {
	return exitCode ?? signalCode ?? undefined;
}
