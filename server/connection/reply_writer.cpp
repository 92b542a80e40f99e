#include "server/connection/reply_writer.h"

#include <spdlog/spdlog.h>

#include "server/connection/counted_bytes.h"

namespace octavo::server {

Task<bool> ReplyWriter::flush() {
  GatherList list;
  list.add(out_);
  bool sent = try_send(list);
  if (!sent && !channel_.broken) sent = co_await send_rest(list);
  out_.clear();
  co_return sent;
}

bool ReplyWriter::try_send(GatherList& list) {
  if (!channel_.transport.plain()) return list.empty();
  boost::system::error_code error;
  std::size_t bytes = 0;
  const bool all = channel_.transport.try_send(list, bytes, error);
  channel_.thread.metrics().bytes_sent.add(bytes);
  if (error) channel_.broken = true;
  return all;
}

Task<bool> ReplyWriter::send_rest(GatherList list) {
  SharedBounds& bounds = channel_.thread.bounds();
  CountedBytes unsent(bounds.unsent_bytes);
  if (!unsent.grow_to(list.size(), bounds.buffered_bytes_max)) {
    spdlog::warn("connection from {} cut off: clients that do not read hold too much memory", peer_address_);
    channel_.broken = true;
    co_return false;
  }
  const bool sent = co_await send_waiting(list);
  co_return sent;
}

Task<bool> ReplyWriter::send_waiting(GatherList list) {
  writing_ = true;
  channel_.wait.begin_transfer();
  while (!list.empty() && !channel_.broken) {
    channel_.wait.begin_piece(Wait::send, channel_.thread.settings().send_timeout_ms);
    boost::system::error_code error;
    const auto bytes = co_await channel_.transport.write_some(list, error);
    if (error) channel_.broken = true;
    channel_.wait.add_transferred(bytes);
    channel_.thread.metrics().bytes_sent.add(bytes);
    list.consume(bytes);
  }
  channel_.wait.end();
  writing_ = false;
  co_return !channel_.broken;
}

void ReplyWriter::send_without_waiting() {
  if (out_.empty() || !channel_.transport.plain() || writing_ || channel_.broken) return;
  GatherList list;
  list.add(out_);
  const auto before = out_.size();
  try_send(list);
  out_.erase(0, before - list.size());
}

void ReplyWriter::shrink(std::size_t bytes_max) {
  if (out_.empty() && out_.capacity() > bytes_max) out_ = {};
}

}  // namespace octavo::server
