import { DatabaseSync } from 'node:sqlite'
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import type { Durability } from './contract.ts'

const { file, durability } = workerData as { file: string; durability: Durability }
const port = parentPort!
const database = new DatabaseSync(file)
database.exec(`
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = ${durability === 'fsync' ? 'FULL' : 'NORMAL'};
  CREATE TABLE history (position INTEGER PRIMARY KEY, node TEXT, step INTEGER, at REAL);
`)
const begin = database.prepare('BEGIN IMMEDIATE')
const insert = database.prepare('INSERT INTO history (node, step, at) VALUES (?, ?, ?)')
const commit = database.prepare('COMMIT')

port.on('message', (first: (string | number)[]) => {
  let messages = 0
  begin.run()
  for (let rows: (string | number)[] | undefined = first; rows !== undefined;) {
    for (let at = 0; at < rows.length; at += 3) insert.run(rows[at]!, rows[at + 1]!, rows[at + 2]!)
    messages++
    rows = receiveMessageOnPort(port)?.message as (string | number)[] | undefined
  }
  commit.run()
  port.postMessage(messages)
})
port.postMessage(0)
