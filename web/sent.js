// Counts what leaves this page or worker: requests, and bytes of their bodies. Every way by which a
// script can send something is counted before it is used, so that the page can say what it sent
// because it was counted and not because it was meant.
// In a block of its own: a name declared at the top of a script would hide what the window calls so.
{
  const count = { requests: 0, bytes: 0 };
  self.espalierSent = count;

  const inWindow = typeof window !== "undefined";
  const channel = "BroadcastChannel" in self ? new BroadcastChannel("espalier-sent") : null;
  if (inWindow && channel) {
    // Workers of other tabs are heard too: rather too much is counted than too little.
    channel.onmessage = ({ data }) => {
      count.requests += data.requests;
      count.bytes += data.bytes;
    };
  }

  const sizeOf = (body) => {
    if (body === null || body === undefined) return 0;
    if (typeof body === "string") return new TextEncoder().encode(body).length;
    if (body instanceof Blob) return body.size;
    if (body instanceof ArrayBuffer) return body.byteLength;
    if (ArrayBuffer.isView(body)) return body.byteLength;
    if (body instanceof URLSearchParams) return body.toString().length;
    if (body instanceof FormData) {
      let bytes = 0;
      for (const [name, value] of body) bytes += name.length + sizeOf(value);
      return bytes;
    }
    // A stream has no size that could be known beforehand: it counts as something in any case.
    return 1;
  };
  const note = (requests, bytes) => {
    if (inWindow) {
      count.requests += requests;
      count.bytes += bytes;
    } else if (channel) {
      channel.postMessage({ requests, bytes });
    }
  };

  const fetchBefore = self.fetch;
  self.fetch = function (input, init) {
    note(1, sizeOf(init && init.body) + (input instanceof Request && input.body ? 1 : 0));
    return fetchBefore.call(this, input, init);
  };
  const wrap = (holder, method, requests) => {
    const before = holder && holder.prototype && holder.prototype[method];
    if (!before) return;
    holder.prototype[method] = function (...given) {
      const body = method === "sendBeacon" ? given[1] : given[0];
      note(requests, sizeOf(body));
      return before.apply(this, given);
    };
  };
  wrap(self.XMLHttpRequest, "send", 1);
  wrap(self.WebSocket, "send", 0);
  wrap(self.RTCDataChannel, "send", 0);
  wrap(self.Navigator, "sendBeacon", 1);
}
