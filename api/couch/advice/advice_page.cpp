#include "api/couch/advice/advice_page.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "query/json/parsed_document.h"

namespace octavo::api::couch {

namespace {

namespace json = boost::json;

constexpr std::string_view style =
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24}"
    "h1,h2{line-height:1.2}section{border-top:1px solid #d0d7de;margin-top:2rem}table{border-collapse:collapse}"
    "td,th{padding:.2rem .8rem .2rem 0;text-align:left}.charts{display:flex;flex-wrap:wrap;gap:1.5rem}"
    "figure{margin:0}figcaption{font-weight:600}svg text{font:12px system-ui,sans-serif}"
    ".recommended{color:#116329}.rejected{color:#a40e26}code{font-size:.9em}";
/// Nothing is loaded or run, and no other page may show this one.
constexpr std::string_view content_security_policy =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        // Control characters have no place in HTML.
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

/// A value or a key for people: a text without its quotes.
std::string shown(const json::value& value) {
  return value.is_string() ? std::string(value.get_string()) : query::readable_json(value);
}

double number_of(const json::value& value) {
  return value.is_number() ? value.to_number<double>() : 0;
}

std::string shortened(std::string text) {
  constexpr std::size_t bytes_max = 24;
  if (text.size() <= bytes_max) return text;
  std::size_t end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

std::string percent(double share) {
  return fmt::format("{:.3g} %", 100 * share);
}

std::string bytes_shown(double bytes) {
  constexpr const char* units[] = {"B", "KB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit) bytes /= 1024;
  return fmt::format("{:.3g} {}", bytes, units[unit]);
}

struct Bar {
  std::string name;
  double size = 0;
  std::string label;
};

// Bars of a common scale, with their names before and their sizes after them.
std::string chart(std::string_view caption, std::string_view color, const std::vector<Bar>& bars) {
  constexpr int row = 22;
  constexpr int names = 170;
  constexpr int widest = 150;
  constexpr int labels = 90;
  double largest = 0;
  for (const Bar& bar : bars) largest = std::max(largest, bar.size);
  std::string out = fmt::format("<figure><figcaption>{}</figcaption>", escaped(caption));
  if (bars.empty()) return out + "<p>Nothing is known.</p></figure>";
  out += fmt::format("<svg role=\"img\" aria-label=\"{}\" width=\"{}\" height=\"{}\">", escaped(caption),
                     names + widest + labels, row * bars.size());
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const Bar& bar = bars[i];
    const std::size_t top = i * row;
    const double width = largest > 0 ? std::max(1.0, widest * bar.size / largest) : 1;
    out += fmt::format(
        "<g><title>{}: {}</title><text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text><rect x=\"{}\" y=\"{}\" "
        "width=\"{:.1f}\" height=\"{}\" fill=\"{}\"/><text x=\"{:.1f}\" y=\"{}\">{}</text></g>",
        escaped(bar.name), escaped(bar.label), names - 6, top + 15, escaped(shortened(bar.name)), names, top + 3, width,
        row - 6, color, names + width + 6, top + 15, escaped(bar.label));
  }
  return out + "</svg></figure>";
}

std::vector<Bar> partition_bars(const json::value& shares) {
  std::vector<Bar> bars;
  if (!shares.is_array()) return bars;
  for (const json::value& share : shares.get_array()) {
    bars.push_back({fmt::format("partition {}", bars.size() + 1), number_of(share), percent(number_of(share))});
  }
  return bars;
}

std::string storage_charts(const json::object& storage) {
  std::vector<Bar> values;
  for (const json::value& value : storage.at("largest").get_array()) {
    const double bytes = number_of(value.at("bytes"));
    values.push_back({shown(value.at("value")), bytes, bytes_shown(bytes)});
  }
  return chart("Storage: the largest values", "#0969da", values) +
         chart("Storage by physical partition", "#0969da", partition_bars(storage.at("physical_shares")));
}

std::string request_charts(const json::object& key) {
  constexpr std::string_view color = "#bf5600";
  const json::value& requests = key.at("requests");
  if (requests.is_null()) {
    return chart("Throughput: writes by physical partition", color,
                 partition_bars(key.at("throughput").at("writes_physical_shares")));
  }
  std::vector<Bar> values;
  for (const json::value& value : requests.at("hottest").get_array()) {
    const double share = number_of(value.at("share"));
    values.push_back({shown(value.at("value")), share,
                      fmt::format("{} ± {:.1f}", percent(share), 100 * number_of(value.at("error")))});
  }
  return chart("Throughput: requests by key, the hottest values", color, values) +
         chart("Requests by key, by physical partition", color, partition_bars(requests.at("physical_shares")));
}

std::string query_chart(const json::value& queries) {
  if (queries.is_null()) return {};
  std::vector<Bar> bars;
  for (const json::value& shape : queries.at("by_shape").get_array()) {
    const double count = number_of(shape.at("count"));
    bars.push_back({shown(shape.at("shape")), count,
                    fmt::format("{:.0f}{}", count, shape.at("fans_out").as_bool() ? ", all partitions" : ", one")});
  }
  return chart("Queries, and whether they read one physical partition or all", "#8250df", bars);
}

std::string section(const json::object& key) {
  const std::string verdict = shown(key.at("verdict"));
  std::string out = fmt::format("<section><h2><code>{}</code> <span class=\"{}\">{}</span></h2><ul>",
                                escaped(shown(key.at("key"))), escaped(verdict), escaped(verdict));
  for (const json::value& reason : key.at("reasons").get_array()) {
    out += fmt::format("<li>{}</li>", escaped(shown(reason)));
  }
  out += "</ul><div class=\"charts\">";
  out += storage_charts(key.at("storage").get_object()) + request_charts(key) + query_chart(key.at("queries"));
  return out + "</div></section>";
}

std::string table(const json::array& candidates) {
  std::string out =
      "<table><thead><tr><th>key</th><th>values</th><th>hottest share of the writes</th><th>usable RU/s</th>"
      "<th>queries that fan out</th><th>verdict</th></tr></thead><tbody>";
  for (const json::value& each : candidates) {
    const auto& key = each.get_object();
    const json::value& usable = key.at("throughput").at("usable");
    const json::value& queries = key.at("queries");
    const json::value& values = key.at("values");
    const std::string verdict = shown(key.at("verdict"));
    out += fmt::format(
        "<tr><td><code>{}</code></td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"{}\">{}</td></tr>",
        escaped(shown(key.at("key"))),
        values.at("estimate").is_null() ? "at least " + shown(values.at("low")) : shown(values.at("estimate")),
        percent(number_of(key.at("throughput").at("writes_hottest_share"))), usable.is_null() ? "?" : shown(usable),
        queries.is_null() ? "?" : percent(number_of(queries.at("fan_out_share"))), escaped(verdict), escaped(verdict));
  }
  return out + "</tbody></table>";
}

std::string conclusion(const json::array& candidates) {
  if (candidates.empty()) return "There is no candidate.";
  const auto& best = candidates.front().get_object();
  if (best.at("verdict") == "rejected") return "No candidate is good. The best one is " + shown(best.at("key")) + ".";
  return shown(best.at("key")) + " is recommended.";
}

}  // namespace

Reply advice_page(std::string_view database, const json::object& advice) {
  const auto& candidates = advice.at("candidates").get_array();
  std::string page = fmt::format(
      "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Partition keys for {0}</title><style>{1}"
      "</style></head><body><h1>Partition keys for {0}</h1><p>{2} documents, {3}. "
      "{4}{5}</p><p><strong>{6}</strong></p>",
      escaped(database), style, shown(advice.at("documents")), bytes_shown(number_of(advice.at("bytes"))),
      advice.at("exact").as_bool() ? std::string("All were read. ")
                                   : fmt::format("{} of them were read, so shares have an error of ± {:.2f} %. ",
                                                 shown(advice.at("sample").at("documents")),
                                                 100 * number_of(advice.at("sample").at("share_error"))),
      fmt::format("Recorded: {} queries, {} requests by key.", shown(advice.at("recorded").at("requests")),
                  shown(advice.at("point_requests").at("recorded"))),
      escaped(conclusion(candidates)));
  if (const auto* warning = advice.if_contains("warning")) page += fmt::format("<p>{}</p>", escaped(shown(*warning)));
  page += table(candidates);
  for (const json::value& key : candidates) page += section(key.get_object());
  page += "</body></html>\n";
  Reply reply;
  reply.body = std::move(page);
  reply.content_type = "text/html; charset=utf-8";
  reply.headers.emplace_back("Content-Security-Policy", std::string(content_security_policy));
  reply.headers.emplace_back("X-Content-Type-Options", "nosniff");
  return reply;
}

}  // namespace octavo::api::couch
