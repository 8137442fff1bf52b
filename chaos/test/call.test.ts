import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import test from 'node:test'

const root = path.resolve(import.meta.dirname, '../..')

function chaos(...args: readonly string[]) {
  return spawnSync(
    process.execPath,
    ['--conditions=heddle-source', path.join(root, 'scripts/chaos.ts'), ...args],
    { encoding: 'utf8', cwd: root },
  )
}

test('--help lists every chaos program and starts none', () => {
  const { status, stdout } = chaos('growing', '--help')
  assert.equal(status, 0)
  for (const name of ['growing-seeds', 'store', 'malformed', 'release']) {
    assert.match(stdout, new RegExp(`^  ${name} `, 'm'))
  }
})

for (const [title, args, said] of [
  ['a program that does not exist', ['toString'], /no chaos program "toString"[^]*Usage/],
  ['an option that does not exist', ['--kill', '5'], /Unknown option '--kill'/],
  [
    'a count that is not a number',
    ['growing', '--kills', 'many'],
    /--kills many: expected a whole/,
  ],
  ['a store that cannot be played', ['--store', 'mysql'], /--store mysql: expected postgres/],
] as const) {
  test(`${title} ends with exit code 2 and one sentence, without a stack`, () => {
    const { status, stderr } = chaos(...args)
    assert.equal(status, 2, stderr)
    assert.match(stderr, said)
    assert.doesNotMatch(stderr, /\n {4}at /)
  })
}
