import assert from "node:assert/strict";
import { test } from "node:test";
import { RestartLimiter } from "../src/restarts.ts";

const settings = { restartsMax: 4, periodMs: 1000, waitMsFirst: 10, waitMsMax: 50 };

test("each restart waits twice as long, up to a limit, and then there is none", () => {
  const limiter = new RestartLimiter(settings);
  assert.deepEqual([0, 1, 2, 3, 4].map((now) => limiter.waitBeforeRestart(now)), [10, 20, 40, 50, undefined]);
});

test("a quiet period forgives", () => {
  const limiter = new RestartLimiter(settings);
  for (let now = 0; now < 4; now += 1) limiter.waitBeforeRestart(now);
  assert.equal(limiter.waitBeforeRestart(1003), 10);
});
