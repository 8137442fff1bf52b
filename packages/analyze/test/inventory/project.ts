/** A small service with everything that an inventory distinguishes. */
export const service: Readonly<Record<string, string>> = {
  'src/server.ts': `import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { spawn } from 'node:child_process'
import { createReadStream } from 'node:fs'
import { Queue } from 'bullmq'
import { render } from './render.ts'

const page = readFileSync('page.html', 'utf8')
const sessions = new Map()
const mails = new Queue('mails')

app.get('/file/:name', async (req, res) => {
  const text = await readFile(req.params.name, 'utf8')
  res.send(render(text))
})

app.post('/jobs', async (req, res) => {
  sessions.set(req.body.id, req.body)
  await mails.add('mail', req.body)
  spawn('convert', [req.body.id])
  res.send(page)
})

app.get('/video', (req, res) => {
  createReadStream('video.mp4').pipe(res)
})

socket.on('message', (data) => {
  handle(JSON.parse(data))
})

setInterval(() => sessions.clear(), 60_000)

export async function ping(): Promise<string> {
  return 'pong'
}
`,
  'src/render.ts': `import { gzipSync } from 'node:zlib'
import { execSync } from 'node:child_process'

export function render(text: string): Buffer {
  execSync('true')
  return gzipSync('constant')
}
`,
  'src/jobs.ts': `import { job } from '@heddle/core'
import { readFileSync } from 'node:fs'

export const plot = job({ name: 'plot', place: 'thread', module: import.meta.url }, (file: string) => {
  return readFileSync(file)
})

export const far = job({ name: 'far', place: 'fleet', module: import.meta.url }, (n: number) => n)

export const near = job({ name: 'near' }, (n: number) => n + 1)
`,
  'src/writer-thread.ts': `import { parentPort } from 'node:worker_threads'
import { DatabaseSync } from 'node:sqlite'

const database = new DatabaseSync('x.db')

parentPort.on('message', (sql) => {
  database.exec(sql)
})
`,
}
