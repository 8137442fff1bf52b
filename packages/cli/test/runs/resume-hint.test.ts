import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resumeHint } from '../../src/runs/resume-hint.ts'

const id = '20261115-224501-k3f9q2'

function hint(command: string, env: Record<string, string> = {}): string {
  return resumeHint({ id, command }, 'sqlite:runs.db', env)
}

test('the run’s own command, with --resume before the arguments of the module', () => {
  assert.equal(hint('heddle run build.ts -c 8'), `heddle run build.ts -c 8 --resume ${id}`)
  assert.equal(
    hint('heddle run build.ts -- --month 10 -- x'),
    `heddle run build.ts --resume ${id} -- --month 10 -- x`,
  )
  assert.equal(
    hint('heddle run build.ts', { npm_command: 'exec' }),
    `npx heddle run build.ts --resume ${id}`,
  )
})

test('a run that was resumed before is resumed once', () => {
  const again = `heddle run build.ts -c 2 --resume ${id}`
  assert.equal(hint('heddle run build.ts --resume -c 2'), again)
  assert.equal(hint('heddle run build.ts --resume 20261101-000000-xxxxxx -c 2'), again)
  assert.equal(hint('heddle run build.ts -c 2 --resume'), again)
})

test('a program is told what to change', () => {
  assert.equal(hint('main.ts'), `run(graph, { journal: 'sqlite:runs.db', resume: '${id}' })`)
})

test('a server goes on with everything in its store', () => {
  assert.equal(hint('heddle serve'), 'heddle serve --store sqlite:runs.db')
  assert.equal(
    hint('heddle serve', { npm_command: 'exec' }),
    'npx heddle serve --store sqlite:runs.db',
  )
})
