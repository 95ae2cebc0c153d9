import {expect, test} from 'vitest';
import {Environment} from '../../../src/environments/environment.js';
import {EnvironmentManager} from '../../../src/environments/environment-manager.js';
import {selectEnvironments} from '../../../src/environments/many/selector.js';

const KNOWN = {
	names: ['local', 'web1', 'web2', 'db', 'arm'],
	labels: new Map([
		['web1', {role: 'web', os: 'linux'}],
		['web2', {role: 'web', os: 'linux', arch: 'arm64'}],
		['db', {role: 'db', os: 'linux'}],
		['arm', {os: 'darwin', arch: 'arm64'}],
	]),
};
const select = (selector: string): string[] => selectEnvironments(selector, KNOWN);

test('a selector is names and labels, and every machine counts once', () => {
	expect(select('db')).toEqual(['db']);
	expect(select('db, web1 ,db')).toEqual(['db', 'web1']);
	expect(select('@role=web')).toEqual(['web1', 'web2']);
	expect(select('@os=linux+arch=arm64')).toEqual(['web2']);
	expect(select('arm,@role=web,@arch=arm64')).toEqual(['arm', 'web1', 'web2']);
});

test('a name that is not known is refused with the one that was probably meant', () => {
	expect(() => select('web1,web3')).toThrow(
		'unknown environment `web3`; did you mean `web1`? known are local, web1, web2, db, arm',
	);
	expect(() => selectEnvironments('x', {names: [], labels: new Map()})).toThrow(
		'unknown environment `x`; there are none',
	);
});

test('labels that no environment has are refused with those there are', () => {
	expect(() => select('web1,@role=mail')).toThrow(
		'no environment has the label role=mail; known are arch=arm64, os=darwin, os=linux, role=db, role=web',
	);
	expect(() => select('@role=db+os=darwin')).toThrow('no environment has the labels role=db and os=darwin;');
	expect(() => select('@constructor=x')).toThrow('no environment has the label constructor=x;');
	expect(() => selectEnvironments('@a=b', {names: ['local'], labels: new Map()})).toThrow(
		'no environment has the label a=b; there are no labels',
	);
});

test.each(['', ' ', 'web1,', ',', 'web1,,db'])('the empty part of %j is refused', selector => {
	expect(() => select(selector)).toThrow(
		/(no environment is selected|has an empty part); expected names and @KEY=VALUE/,
	);
});

test.each(['@', '@role', '@role=', '@=web', '@role=web+', '@role=a=b', '@ro le=web', `@${'k'.repeat(65)}=v`])(
	'%s is no selector',
	selector => {
		expect(() => select(selector)).toThrow(/selects nothing; expected names and @KEY=VALUE/);
	},
);

test('a manager selects its environments by the labels of its source', async () => {
	const remotes = new Map(['one', 'two'].map(id => [id, {kind: 'unix', path: `/nowhere/${id}`} as const]));
	await using manager = new EnvironmentManager({
		defaultId: 'one',
		includesLocal: true,
		remotes,
		labels: new Map([['two', {os: 'linux'}]]),
	});
	const selected = manager.select('@os=linux,local');
	expect(selected.map(({id}) => id)).toEqual(['two', 'local']);
	expect(selected.every(each => each instanceof Environment)).toBe(true);
	expect([manager.labels('two'), manager.labels('one')]).toEqual([{os: 'linux'}, {}]);
	expect(() => manager.select('three')).toThrow('unknown environment `three`;');
});
