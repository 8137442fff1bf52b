import assert from 'node:assert/strict'
import { test } from 'node:test'
import { snippetOf } from '../../../src/frontend/targets/snippet.ts'

const never = (): boolean => false

test('a snippet is read unchanged, in the first language that can parse it', () => {
  assert.deepEqual(snippetOf('const a: number = 1', '/r', never), {
    file: '/r/snippet.ts',
    text: 'const a: number = 1',
  })
  assert.equal(snippetOf('const a = <p>x</p>', '/r', never).file, '/r/snippet.tsx')
})

test('members of a class are put into one, and their lines stay the same', () => {
  const members = '#a = 1\nasync b() {\n  this.#a = await c()\n}'
  const { text } = snippetOf(members, '/r', never)
  assert.match(text.split('\n')[0]!, /^class Snippet \{ #a = 1$/)
  assert.deepEqual(text.split('\n').slice(1, 4), members.split('\n').slice(1))
})

test('unreadable text stays unchanged, and no file is hidden', () => {
  assert.equal(snippetOf('const {', '/r', never).text, 'const {')
  const taken = new Set(['/r/snippet.ts', '/r/snippet-2.ts'])
  assert.equal(snippetOf('a', '/r', (file) => taken.has(file)).file, '/r/snippet-3.ts')
})
