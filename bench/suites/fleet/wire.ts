/** HTTP/1.1 by hand over one socket: an agent or a pool would cost more than the server that is measured. */
import net from 'node:net'

export interface Answer {
  readonly status: number
  readonly body: string
}

export interface WireOptions {
  readonly host: string
  readonly port: number
  readonly token: string | undefined
  /** The address to connect from: one address has too few ports for more than 25,000 workers. */
  readonly from?: string
  readonly onAnswer: (answer: Answer) => void
  /** The connection is gone; an answer that was awaited does not come. */
  readonly onClose: () => void
}

export class Wire {
  readonly #options: WireOptions
  #socket: net.Socket | undefined
  #rest = ''

  constructor(options: WireOptions) {
    this.#options = options
  }

  get isOpen(): boolean {
    return this.#socket !== undefined
  }

  send(path: string, body: string): void {
    const { host, token } = this.#options
    const socket = (this.#socket ??= this.#connect())
    const authorization = token === undefined ? '' : `Authorization: Bearer ${token}\r\n`
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\n${authorization}` +
        `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    )
  }

  /** Behaves like a pulled cable: a reset, without the end of a stream. */
  cut(): void {
    this.#socket?.resetAndDestroy()
  }

  close(): void {
    this.#socket?.destroy()
  }

  #connect(): net.Socket {
    const { host, port, from } = this.#options
    const socket = net.connect({ host, port, ...(from !== undefined && { localAddress: from }) })
    socket.setNoDelay(true)
    socket.setEncoding('utf8')
    socket.on('data', (data) => this.#read(String(data)))
    socket.on('error', () => undefined)
    socket.on('close', () => {
      if (this.#socket !== socket) return
      this.#socket = undefined
      this.#rest = ''
      this.#options.onClose()
    })
    this.#rest = ''
    return socket
  }

  #read(data: string): void {
    let text = this.#rest === '' ? data : this.#rest + data
    for (;;) {
      const head = text.indexOf('\r\n\r\n')
      if (head < 0) break
      const length = contentLength(text, head)
      const end = head + 4 + length
      // Answers of the server are ASCII: a character is a byte.
      if (text.length < end) break
      const status = Number(text.slice(9, 12))
      const body = text.slice(head + 4, end)
      text = text.slice(end)
      this.#options.onAnswer({ status, body })
    }
    this.#rest = text
  }
}

function contentLength(text: string, head: number): number {
  const name = 'content-length: '
  const at = text.toLowerCase().lastIndexOf(name, head)
  return at < 0 ? 0 : Number.parseInt(text.slice(at + name.length, head), 10)
}
