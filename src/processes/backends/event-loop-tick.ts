let turn = 0;
let counting = false;

/** A number that changes with every turn of the event loop in which it is asked for. */
export function currentTick(): number {
	if (!counting) {
		counting = true;
		setImmediate(() => {
			counting = false;
			turn++;
		});
	}
	return turn;
}
