const DEFAULT_WITHIN_MS = 20_000;
/** Output is searched in pieces of this size; an address is shorter than what is kept of the piece before. */
const MAX_OUTPUT_CHARACTERS = 65_536;
const KEPT_CHARACTERS = 4096;
const SHOWN_CHARACTERS = 500;

/**
 * The first `ws://` or `http://` address (as `scheme` says) that a child prints on stdout or stderr. Rejects when it ends
 * before, or prints none in time, with the end of its stderr.
 */
export function printedAddress(child, {name = 'the server', scheme = 'ws', withinMs = DEFAULT_WITHIN_MS} = {}) {
	const address = new RegExp(`${scheme}://[^\\s"']+(?=[\\s"'])`);
	let output = '';
	let errors = '';
	return new Promise((resolve, reject) => {
		const fail = what => reject(new Error(`${name} ${what}: ${errors}`));
		const timer = setTimeout(() => fail(`printed no ${scheme}:// address in ${withinMs / 1000} s`), withinMs).unref();
		const look = data => {
			output += data;
			const found = address.exec(output)?.[0];
			if (found !== undefined) {
				clearTimeout(timer);
				child.stdout.off('data', look);
				child.stderr?.off('data', look);
				// A pipe that nobody reads would block the child.
				child.stdout.resume();
				child.stderr?.resume();
				resolve(found);
			}
			if (output.length > MAX_OUTPUT_CHARACTERS) output = output.slice(-KEPT_CHARACTERS);
		};
		child.stdout.on('data', look);
		child.stderr?.on('data', look);
		child.stderr?.on('data', data => {
			errors = (errors + data).slice(-SHOWN_CHARACTERS);
		});
		child.once('error', reject);
		child.once('exit', (code, signal) => fail(`exited at start (${signal ?? code})`));
	});
}
