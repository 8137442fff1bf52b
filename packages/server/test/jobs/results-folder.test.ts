import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { job } from '@heddle/core'
import { startServer, type ServerLog } from '../../src/index.ts'
import { otherFolder } from '../../src/jobs/results-folder.ts'

test('a damaged folder of results: a warning with the one that is used, at every start', async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-server-'))
  using _ = { [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) }
  const results = path.join(folder, 'serve.results')
  const start = async (): Promise<readonly string[]> => {
    const logs: ServerLog[] = []
    await using _server = await startServer({
      jobs: [job({ name: 'one' }, () => 1)],
      port: 0,
      store: `sqlite:${path.join(folder, 'serve.db')}`,
      // The machine may hold up the loop: that is another warning.
      limits: { loopGap: Infinity },
      onLog: (line) => logs.push(line),
    })
    return logs.filter(({ level }) => level === 'warning').map(({ text }) => text)
  }
  assert.deepEqual(await start(), [])
  const [first] = readdirSync(results)
  writeFileSync(path.join(results, first!, 'cache.db'), 'damaged by a test')
  for (let round = 0; round < 2; round++) {
    const [text, ...others] = await start()
    assert.match(text!, /^The folder of the results is damaged/)
    assert.ok(text!.includes(path.join(results, `${first}-2`)), text)
    assert.deepEqual(others, [])
  }
  // Nobody holds one now.
  assert.equal(await otherFolder(results), undefined)
})
