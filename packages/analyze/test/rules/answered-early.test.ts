import { raceTests } from '../support/races.ts'

raceTests('H508', [
  {
    name: 'an answer that comes before the entry for it',
    check: 'await writer.write',
    act: 'waiting.set',
    race: `const waiting = new Map<number, Waiter>()
export function connect(writer: Writer) {
  let next = 0
  async function request(method: string, waiter: Waiter) {
    const id = next++
    const message = { id, method }
    await writer.write(message)
    waiting.set(id, waiter)
  }
  function onAnswer(answer: Answer) {
    const waiter = waiting.get(answer.id)
    waiting.delete(answer.id)
    waiter.resolve(answer)
  }
  return { request, onAnswer }
}
`,
    fixed: `const waiting = new Map<number, Waiter>()
export function connect(writer: Writer) {
  let next = 0
  async function request(method: string, waiter: Waiter) {
    const id = next++
    const message = { id, method }
    waiting.set(id, waiter)
    await writer.write(message)
  }
  function onAnswer(answer: Answer) {
    const waiter = waiting.get(answer.id)
    waiting.delete(answer.id)
    waiter.resolve(answer)
  }
  return { request, onAnswer }
}
`,
  },
  {
    name: 'a mark that the next message of the peer needs',
    act: 'this.isAccepted = true',
    race: `export class Session {
  isAccepted = false
  async accept(socket: Socket) {
    await socket.send('accepted')
    this.isAccepted = true
  }
  async subscribe(topic: string) {
    if (!this.isAccepted) throw new Error('not accepted')
    await this.topics.add(topic)
  }
}
`,
    fixed: `export class Session {
  isAccepted = false
  async accept(socket: Socket) {
    this.isAccepted = true
    await socket.send('accepted')
  }
  async subscribe(topic: string) {
    if (!this.isAccepted) throw new Error('not accepted')
    await this.topics.add(topic)
  }
}
`,
  },
])
