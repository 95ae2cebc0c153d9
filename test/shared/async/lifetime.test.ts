import {expect, test} from 'vitest';
import {Lifetime} from '../../../src/shared/async/lifetime.js';

test('closing cancels what is registered, once and in order', () => {
	const scope = new Lifetime();
	const cancelled: string[] = [];
	for (const name of ['a', 'b', 'c']) scope.add(() => cancelled.push(name));
	expect(scope.isClosed).toBe(false);
	scope.close();
	scope.close();
	expect({closed: scope.isClosed, cancelled}).toEqual({closed: true, cancelled: ['a', 'b', 'c']});
});

test('what was taken back is not cancelled', () => {
	const scope = new Lifetime();
	const cancelled: string[] = [];
	scope.add(() => cancelled.push('stays'));
	const takeBack = scope.add(() => cancelled.push('taken back'));
	takeBack();
	takeBack();
	scope.close();
	expect(cancelled).toEqual(['stays']);
});

test('one function registered twice is cancelled twice, and taken back one at a time', () => {
	const scope = new Lifetime();
	let count = 0;
	const cancel = (): void => {
		count++;
	};
	const takeBack = scope.add(cancel);
	scope.add(cancel);
	scope.add(cancel);
	takeBack();
	scope.close();
	expect(count).toBe(2);
});

test('registering with a closed scope cancels at once', () => {
	const scope = new Lifetime();
	scope.close();
	const cancelled: string[] = [];
	const takeBack = scope.add(() => cancelled.push('late'));
	expect(cancelled).toEqual(['late']);
	takeBack();
	scope.close();
	expect(cancelled).toEqual(['late']);
});

test('what is registered or taken back while the scope closes is treated as in any other moment', () => {
	const scope = new Lifetime();
	const cancelled: string[] = [];
	scope.add(() => {
		cancelled.push('first');
		takeBack();
		scope.add(() => cancelled.push('late'));
	});
	const takeBack = scope.add(() => cancelled.push('taken back'));
	scope.add(() => cancelled.push('last'));
	scope.close();
	expect(cancelled).toEqual(['first', 'late', 'last']);
});
