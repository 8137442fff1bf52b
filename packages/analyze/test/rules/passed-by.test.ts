import { raceTests } from '../support/races.ts'

raceTests('H211', [
  {
    name: 'a handler in which only the first request waits for the start',
    check: 'if (!origin)',
    act: 'await ready',
    race: `let origin: string | undefined
const ready = server.init()
export default async function handler(request: Request) {
  if (!origin) {
    origin = new URL(request.url).origin
    await ready
  }
  return server.respond(request)
}
`,
    fixed: `let origin: string | undefined
const ready = server.init()
export default async function handler(request: Request) {
  if (!origin) {
    origin = new URL(request.url).origin
  }
  await ready
  return server.respond(request)
}
`,
  },
  {
    name: 'a folder that the second writer finds marked and not made',
    race: `export class Log {
  hasFolder = false
  async write(text: string) {
    if (!this.hasFolder) {
      this.hasFolder = true
      await fs.mkdir(this.folder)
    }
    await fs.appendFile(this.path, text)
  }
}
`,
    fixed: `export class Log {
  folderMade: Promise<void> | undefined
  async write(text: string) {
    this.folderMade ??= fs.mkdir(this.folder)
    await this.folderMade
    await fs.appendFile(this.path, text)
  }
}
`,
  },
])
