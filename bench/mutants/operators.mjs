/** The changes at a node: `{operator, start, end, after}`, with `statement` when whole statements are taken away. */

const BOUNDARIES = {'<': '<=', '<=': '<', '>': '>=', '>=': '>'};
const EQUALITIES = {'===': '!==', '!==': '==='};
const ARITHMETIC = {'+': '-', '-': '+', '*': '/', '/': '*', '%': '*', '&': '|', '|': '&', '<<': '>>', '>>>': '<<'};
const STEPS = {'+=': '-=', '-=': '+=', '++': '--', '--': '++'};
const COUNTERPARTS = {min: 'max', max: 'min', some: 'every', every: 'some', floor: 'ceil', ceil: 'floor'};
const LOOPS = new Set(['WhileStatement', 'DoWhileStatement', 'ForStatement']);
const FUNCTIONS = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']);

/** `path` is the way from the file to the node, the node itself last. */
export function changesAt(node, path, source) {
	const parent = path.at(-2);
	const make = CHANGES[node.type];
	return [...conditionChanges(node, parent, source), ...(make?.(node, path, source) ?? [])];
}

const CHANGES = {
	BinaryExpression(node, _path, source) {
		const {operator} = node;
		if (operator in BOUNDARIES) return [swap('boundary moved', node, BOUNDARIES[operator], source)];
		if (operator in EQUALITIES) return [swap('equality swapped', node, EQUALITIES[operator], source)];
		if (!(operator in ARITHMETIC) || [node.left, node.right].some(isText)) return [];
		return [swap('arithmetic swapped', node, ARITHMETIC[operator], source)];
	},
	LogicalExpression(node, _path, source) {
		const [left, right] = [node.left, node.right].map(side => `(${textOf(side, source)})`);
		if (node.operator === '??') return [replace('fallback dropped', node, left)];
		return [
			swap('and/or swapped', node, node.operator === '&&' ? '||' : '&&', source),
			replace('operand dropped', node, left),
			replace('operand dropped', node, right),
		];
	},
	UnaryExpression(node, _path, source) {
		if (node.operator !== '!' && node.operator !== '-') return [];
		return [replace('negation dropped', node, `(${textOf(node.argument, source)})`)];
	},
	UpdateExpression(node, _path, source) {
		return [replace('step reversed', node, textOf(node, source).replace(node.operator, STEPS[node.operator]))];
	},
	AssignmentExpression(node, _path, source) {
		if (!(node.operator in STEPS) || isText(node.right)) return [];
		return [swap('step reversed', node, STEPS[node.operator], source)];
	},
	Literal(node) {
		if (typeof node.value === 'boolean') return [replace('boolean flipped', node, String(!node.value))];
		if (node.value === 0 || node.value === 1) return [replace('constant changed', node, String(1 - node.value))];
		return [];
	},
	ChainExpression(node, _path, source) {
		return chainLinks(node.expression).map(link => requireLink(link, node, source));
	},
	CallExpression(node, path, source) {
		const name = node.callee.property?.name;
		const isBody = path.at(-2).type === 'ArrowFunctionExpression' && path.at(-2).body === node;
		return [
			...(Object.hasOwn(COUNTERPARTS, name ?? '') ? [callInstead(COUNTERPARTS[name], node, source)] : []),
			...(isBody ? [replace('call removed', node, 'undefined')] : []),
		];
	},
	ExpressionStatement(node, _path, source) {
		const {expression} = node;
		const gone = operator => ({...replace(operator, node, ';'), statement: true});
		if (expression.type === 'AssignmentExpression' || expression.type === 'UpdateExpression')
			return [gone('assignment removed')];
		if (expression.type === 'AwaitExpression') {
			const unawaited = replace('await dropped', node, `void ${textOf(expression.argument, source)};`);
			return [gone('call removed'), {...unawaited, statement: true}];
		}
		return isCall(expression) ? [gone('call removed')] : [];
	},
	ReturnStatement(node, path) {
		return isLastOfFunction(path) ? [] : [{...replace('return removed', node, '{}'), statement: true}];
	},
	ThrowStatement: node => [{...replace('throw removed', node, '{}'), statement: true}],
	ContinueStatement: node => [{...replace('jump removed', node, '{}'), statement: true}],
	BreakStatement: node => [{...replace('jump removed', node, '{}'), statement: true}],
};

/** A loop that goes on for ever says only that there are loops: loops are entered never, or by the opposite. */
function conditionChanges(node, parent, source) {
	if (parent?.test !== node || parent.type === 'SwitchCase') return [];
	const negated = replace('condition negated', node, `!(${textOf(node, source)})`);
	if (node.type === 'UnaryExpression' && node.operator === '!') return [replace('condition always', node, 'true')];
	const never = replace('condition never', node, 'false');
	return LOOPS.has(parent.type) ? [never] : [negated, replace('condition always', node, 'true'), never];
}

function replace(operator, node, after) {
	return {operator, start: node.start, end: node.end, after};
}

function swap(operator, node, other, source) {
	const between = source.slice(node.left.end, node.right.start).replace(node.operator, other);
	const after = source.slice(node.start, node.left.end) + between + source.slice(node.right.start, node.end);
	// Another operator may bind less than what stands around it.
	return replace(operator, node, node.type === 'AssignmentExpression' ? after : `(${after})`);
}

function callInstead(name, node, source) {
	const {start, end} = node.callee.property;
	return replace('function swapped', node, source.slice(node.start, start) + name + source.slice(end, node.end));
}

/** The links with a question mark, of `a?.b?.(c)` two. */
function chainLinks(node) {
	if (node === undefined || node === null) return [];
	const inner = chainLinks(node.object ?? node.callee);
	return node.optional ? [...inner, node] : inner;
}

function requireLink(link, chain, source) {
	const from = (link.object ?? link.callee).end;
	const at = source.indexOf('?.', from);
	const isDotNeeded = link.type === 'MemberExpression' && !link.computed;
	const after = source.slice(chain.start, at) + (isDotNeeded ? '.' : '') + source.slice(at + 2, chain.end);
	return replace('optional chain required', chain, after);
}

function isText(node) {
	if (node.type === 'BinaryExpression') return isText(node.left) || isText(node.right);
	return node.type === 'TemplateLiteral' || (node.type === 'Literal' && typeof node.value === 'string');
}

function isCall(node) {
	if (node.type === 'UnaryExpression' && node.operator === 'void') return isCall(node.argument);
	if (node.type === 'ChainExpression') return isCall(node.expression);
	return node.type === 'CallExpression' && node.callee.type !== 'Super';
}

function isLastOfFunction(path) {
	const [owner, parent, node] = path.slice(-3);
	return FUNCTIONS.has(owner.type) && parent.body?.at?.(-1) === node;
}

function textOf(node, source) {
	return source.slice(node.start, node.end);
}
