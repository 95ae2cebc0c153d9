import type {VNode} from 'preact';
import {useEffect, useRef, useState} from 'preact/hooks';
import type {TerminalPane} from './terminal-pane.js';

/** Searches the lines of a terminal. */
export function FindBar({pane, close}: {pane: TerminalPane; close: () => void}): VNode {
	const input = useRef<HTMLInputElement>(null);
	const [isFound, setFound] = useState(true);
	useEffect(() => {
		input.current?.focus();
		return () => pane.search.clearDecorations();
	}, [pane]);
	const find = (isBackward: boolean): void => {
		const text = input.current?.value ?? '';
		setFound(text === '' || (isBackward ? pane.search.findPrevious(text) : pane.search.findNext(text)));
	};
	return (
		<div class="find" role="search">
			<input
				ref={input}
				type="search"
				aria-label="Find in the output"
				placeholder="Find"
				onInput={() => find(true)}
				onKeyDown={event => {
					if (event.key === 'Enter') find(!event.shiftKey);
					if (event.key === 'Escape') close();
				}}
			/>
			<button type="button" onClick={() => find(true)} aria-label="Previous match">
				↑
			</button>
			<button type="button" onClick={() => find(false)} aria-label="Next match">
				↓
			</button>
			<span class="dim" role="status">
				{isFound ? '' : 'not found'}
			</span>
			<button type="button" class="quiet" onClick={close}>
				Close
			</button>
		</div>
	);
}
