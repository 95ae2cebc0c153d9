import type {VNode} from 'preact';
import {useRef, useState} from 'preact/hooks';
import type {ProcessViewer} from './process-viewer.js';
import type {TerminalPane} from './terminal-pane.js';

const ESC = '\u001b';
/** Bits of a letter that the control key leaves. */
const CONTROL_MASK = 0x1f;

interface BarKey {
	readonly shown: string;
	readonly name: string;
	/** In normal mode, and in that of editors if it differs. */
	readonly data: string;
	readonly application?: string;
}

const KEYS: readonly BarKey[] = [
	{shown: 'Esc', name: 'Esc', data: ESC},
	{shown: 'Tab', name: 'Tab', data: '\t'},
	{shown: '←', name: 'Left', data: `${ESC}[D`, application: `${ESC}OD`},
	{shown: '↓', name: 'Down', data: `${ESC}[B`, application: `${ESC}OB`},
	{shown: '↑', name: 'Up', data: `${ESC}[A`, application: `${ESC}OA`},
	{shown: '→', name: 'Right', data: `${ESC}[C`, application: `${ESC}OC`},
	{shown: '^C', name: 'Control C', data: '\u0003'},
	{shown: '^D', name: 'Control D', data: '\u0004'},
];

/** Keys that touch screens lack, and a line to compose input in: suggestions and corrections happen before anything is sent. */
export function KeyBar({viewer, pane}: {viewer: ProcessViewer; pane: TerminalPane}): VNode {
	const line = useRef<HTMLInputElement>(null);
	const [hasControl, setControl] = useState(false);
	const press = ({data, application}: BarKey): void => {
		viewer.type(application !== undefined && pane.hasApplicationKeys ? application : data);
	};
	const send = (event: Event): void => {
		event.preventDefault();
		const field = line.current!;
		const {value} = field;
		if (hasControl && value !== '') viewer.type(String.fromCharCode(value.toUpperCase().charCodeAt(0) & CONTROL_MASK));
		else viewer.type(`${value}\r`);
		field.value = '';
		setControl(false);
	};
	return (
		<div class="keys" role="group" aria-label="Keys">
			<div class="key-row">
				<button type="button" aria-pressed={hasControl} onClick={() => setControl(!hasControl)}>
					Ctrl
				</button>
				{KEYS.map(key => (
					<button type="button" key={key.name} aria-label={key.name} onClick={() => press(key)}>
						{key.shown}
					</button>
				))}
			</div>
			<form onSubmit={send}>
				<input
					ref={line}
					aria-label={hasControl ? 'Letter to send with control' : 'Line to send'}
					placeholder={hasControl ? 'Letter for Ctrl' : 'Type a line, then Enter'}
					autocomplete="off"
					autocapitalize="off"
					spellcheck={false}
					enterkeyhint="send"
				/>
				<button type="submit">Send</button>
			</form>
		</div>
	);
}
