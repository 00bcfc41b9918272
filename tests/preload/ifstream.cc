// SPDX-License-Identifier: MIT
// Reads files by the streams of C++, and prints what came: ifstream FILE…
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace fs = std::filesystem;

static std::size_t sum(const std::string &text)
{
	return std::hash<std::string>()(text);
}

static std::string all(const std::string &path)
{
	std::ifstream in(path, std::ios::binary);
	return { std::istreambuf_iterator<char>(in), {} };
}

static void pieces(const std::string &path)
{
	std::ifstream in(path, std::ios::binary | std::ios::ate);
	std::cout << "size " << in.tellg() << " good " << in.good() << '\n';
	std::vector<char> bytes(in.good() ? (std::size_t)in.tellg() : 0);
	in.seekg(0);
	in.read(bytes.data(), bytes.size());
	std::cout << "read " << in.gcount() << ' ' << sum({ bytes.begin(), bytes.end() }) << ' ' << in.peek()
		  << in.eof() << '\n';
	in.clear();
	in.seekg(-10, std::ios::end);
	std::string word;
	in >> word;
	std::cout << "word " << sum(word) << ' ' << in.tellg() << ' ' << in.rdbuf()->in_avail() << '\n';
	in.clear();
	in.seekg(5).ignore(20, ' ').get();
	std::cout << "at " << in.tellg() << ' ' << in.unget().get() << '\n';
}

static void lines(const std::string &path)
{
	std::ifstream in(path);
	std::string line;
	std::size_t count = 0, sums = 0;
	while (std::getline(in, line)) {
		count++;
		sums = sums * 31 + sum(line);
	}
	std::cout << count << " lines " << sums << '\n';
	in.close();
	in.open(path);
	int number = -1;
	double real = -1;
	in >> number >> line >> real;
	std::cout << number << ' ' << sum(line) << ' ' << real << ' ' << in.fail() << '\n';
	std::ostringstream copy;
	copy << std::ifstream(path).rdbuf();
	std::cout << copy.str().size() << ' ' << sum(copy.str()) << '\n';
}

static void small_buffer(const std::string &path)
{
	char own[16];
	std::ifstream in;
	in.rdbuf()->pubsetbuf(own, sizeof(own));
	in.open(path, std::ios::binary);
	std::string text(std::istreambuf_iterator<char>(in), {});
	std::cout << "small buffer " << text.size() << ' ' << sum(text) << '\n';
	std::fstream both(path), output(path, std::ios::out);
	std::cout << "to write " << both.is_open() << output.is_open() << '\n';
}

static void attributes(const std::string &path)
{
	std::error_code error;
	std::cout << fs::exists(path, error) << fs::is_regular_file(path, error) << fs::is_symlink(path, error)
		  << fs::file_size(path, error) << ' ' << error.message() << ' ' << fs::canonical(path, error) << ' '
		  << (unsigned)fs::status(path, error).permissions() << ' ' << fs::hard_link_count(path, error) << ' '
		  << fs::last_write_time(path, error).time_since_epoch().count() << '\n';
	std::cout << "copied " << fs::copy_file(path, "copy", fs::copy_options::overwrite_existing, error) << ' '
		  << error.message() << ' ' << sum(all("copy")) << '\n';
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		std::cout << argv[i] << ' ' << sum(all(argv[i])) << '\n';
		pieces(argv[i]);
		lines(argv[i]);
		small_buffer(argv[i]);
		attributes(argv[i]);
	}
	std::vector<std::size_t> sums(argc);
	std::vector<std::thread> threads;
	for (int i = 1; i < argc; i++)
		threads.emplace_back([&, i] {
			for (int round = 0; round < 20; round++)
				sums[i] = sum(all(argv[i]));
		});
	for (auto &thread : threads)
		thread.join();
	std::copy(sums.begin() + 1, sums.end(), std::ostream_iterator<std::size_t>(std::cout, "\n"));
	return 0;
}
