import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { makeFolder, makeFolderNow } from '../../src/files/make-folder.ts'

const ways = { makeFolder, makeFolderNow: async (folder: string) => makeFolderNow(folder) }

for (const [name, make] of Object.entries(ways)) {
  test(`${name}: makes the folders above, and accepts existing ones`, async () => {
    const root = mkdtempSync(path.join(os.tmpdir(), 'folders-'))
    try {
      const folder = path.join(root, 'a', 'b', 'c')
      await Promise.all([make(folder), make(path.join(root, 'a', 'b')), make(folder)])
      await make(folder)
      assert.ok(statSync(folder).isDirectory())
      await make(path.parse(root).root)
    } finally {
      rmSync(root, { recursive: true })
    }
  })

  test(`${name}: a file in the way is an error`, async () => {
    const root = mkdtempSync(path.join(os.tmpdir(), 'folders-'))
    try {
      writeFileSync(path.join(root, 'file'), '')
      await assert.rejects(make(path.join(root, 'file')), { code: 'EEXIST' })
      await assert.rejects(make(path.join(root, 'file', 'below')), { code: 'ENOTDIR' })
    } finally {
      rmSync(root, { recursive: true })
    }
  })

  const skip = process.platform === 'linux' ? false : 'only Linux has /proc'
  test(
    `${name}: a file system that takes no folders is an error, and no endless loop`,
    { skip },
    async () => {
      await assert.rejects(make('/proc/heddle/below'), { code: 'ENOENT' })
    },
  )
}
