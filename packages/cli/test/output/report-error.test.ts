import assert from 'node:assert/strict'
import test from 'node:test'
import { HeddleError } from '@heddle/core'
import { errorLines } from '../../src/output/report-error.ts'
import { textOf } from '../../src/text/line.ts'

const show = (error: unknown, context?: string): string[] => errorLines(error, context).map(textOf)

test('our errors: the problem, the repair, the code', () => {
  assert.deepEqual(show(new HeddleError('HDL_CLOSED', { what: 'It' })), [
    'heddle: It is closed.',
    '        Your code closed it: do not use it afterwards. [HDL_CLOSED]',
  ])
})

test('the help for a wrong option names the code that passed it, or where the command has it from', () => {
  const details = { option: 'key', value: '', expected: 'a name' }
  const inCode = show(new HeddleError('HDL_BAD_OPTION', details)).at(-1)!
  assert.match(inCode, /^ +Correct the value where it is passed: the stack .* line of code\. /)
  assert.doesNotMatch(inCode, /command line/)
  const ours = Object.assign(new HeddleError('HDL_BAD_OPTION', details), { stack: 'Error: x' })
  assert.match(show(ours).at(-1)!, /on the command line, in the code, or in the settings file/)
})

test('an error of a module: the line it is about, and the help of an error of ours inside', () => {
  const cause = Object.assign(new SyntaxError('Expression expected'), {
    stack: '/w/a.ts:2\nexport default [\n^^^^^^\n\nSyntaxError: Expression expected',
  })
  const lines = show(
    new HeddleError(
      'HDL_LOAD_FAILED',
      { file: 'a.ts', action: 'be imported', cause: 'x' },
      { cause },
    ),
  )
  assert.deepEqual(lines.slice(1, 3), ['          export default [', '          ^^^^^^'])
  const inner = new HeddleError('HDL_THREAD_MODULE', { job: 'crunch' })
  const outer = show(
    new HeddleError(
      'HDL_LOAD_FAILED',
      { file: 'a.ts', action: 'be imported', cause: 'x' },
      { cause: inner },
    ),
  )
  assert.ok(outer.some((line) => line.includes('Add `module: import.meta.url`')))
})

test('errors of other code come with their stack; their text cannot break the terminal', () => {
  const [first, ...rest] = show(new TypeError('no\u001b[2J'), 'it ended: ')
  assert.equal(first, 'heddle: it ended: TypeError: no')
  assert.match(rest[0]!, /^ {8}at .*report-error\.test\.ts/)
  assert.deepEqual(show('text\nmore'), ['heddle: text', '        more'])
})
