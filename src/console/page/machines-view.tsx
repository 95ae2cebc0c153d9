import type {VNode} from 'preact';
import {useEffect} from 'preact/hooks';
import {isWaitingForInput} from '../../client/process/process-wait-words.js';
import {login} from './login-state.js';
import {linkTo, type MachineLink} from './machine-link.js';
import {Badge} from './page-parts.js';
import {processListOf} from './process-list.js';
import {hrefOf} from './route.js';

/** All machines, and how they are. */
export function MachinesView(): VNode {
	const state = login.value;
	const machines = state.kind === 'ready' ? state.machines : [];
	return (
		<>
			<div class="view-head">
				<h1>Machines</h1>
			</div>
			<ul class="cards">
				{machines.map(({key}) => (
					<MachineCard key={key} link={linkTo(key)!} />
				))}
			</ul>
		</>
	);
}

function MachineCard({link}: {link: MachineLink}): VNode {
	const list = processListOf(link);
	useEffect(() => list.watch(), [list]);
	const connection = link.state.value;
	const state = list.state.value;
	const processes = state.kind === 'listed' ? state.processes : [];
	const running = processes.filter(each => each.state === 'running').length;
	const waiting = processes.filter(isWaitingForInput).length;
	return (
		<li class="card">
			<h2>
				<a href={hrefOf({kind: 'view', machine: link.key, view: 'processes', rest: ''})}>{link.name}</a>
			</h2>
			<p>
				{connection.kind === 'ready' && <Badge tone="good">connected</Badge>}
				{connection.kind === 'connecting' && <Badge tone="plain">connecting</Badge>}
				{connection.kind === 'disconnected' && <Badge tone="bad">not reachable</Badge>}{' '}
				{waiting > 0 && <Badge tone="warn">{waiting} waiting for input</Badge>}
			</p>
			<p class="dim">{state.kind === 'listed' ? `${running} running, ${processes.length - running} ended` : ' '}</p>
		</li>
	);
}
